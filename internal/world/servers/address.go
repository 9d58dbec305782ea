package servers

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// The variables that keep a password out of the command line, where every process can read it.
const (
	UserVariable     = "LOCKBENCH_REDIS_USER"
	PasswordVariable = "LOCKBENCH_REDIS_PASSWORD"
)

const defaultPort = "6379"

// Address is a Redis server that a user named, with its secrets. However it is printed, they are not.
type Address struct {
	host, port, db string
	user, password string
	tls            bool
}

// URL is the whole address, for who connects. It is not for anybody's eyes: print the Address itself.
func (a Address) URL() string {
	u := a.bare()
	switch {
	case a.password != "":
		u.User = url.UserPassword(a.user, a.password)
	case a.user != "":
		u.User = url.User(a.user)
	}
	return u.String()
}

// String shows *** in place of the password; of what stands before @ alone too, which may be one.
func (a Address) String() string {
	u := a.bare()
	switch {
	case a.user != "" && a.password != "":
		return strings.Replace(u.String(), "://", "://"+url.User(a.user).String()+":***@", 1)
	case a.user != "" || a.password != "":
		return strings.Replace(u.String(), "://", "://***@", 1)
	}
	return u.String()
}

// GoString is for %#v, which would otherwise print every field.
func (a Address) GoString() string { return a.String() }

func (a Address) hostPort() string { return net.JoinHostPort(a.host, a.port) }

func (a Address) bare() url.URL {
	u := url.URL{Scheme: "redis", Host: a.hostPort()}
	if a.tls {
		u.Scheme = "rediss"
	}
	if a.db != "" {
		u.Path = "/" + a.db
	}
	return u
}

// ParseAddresses reads a list with commas. A user and a password come from the environment where an address
// has none. Its errors quote nothing: what cannot be read may have a secret anywhere.
func ParseAddresses(list string, getenv func(string) string) ([]Address, error) {
	var all []Address
	for i, text := range strings.Split(list, ",") {
		a, err := parseAddress(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("address %d (not shown, it may have a password in it): %w", i+1, err)
		}
		for _, b := range all {
			if a.hostPort() == b.hostPort() {
				return nil, fmt.Errorf("address %d: %s is named twice; each must be a server of its own", i+1, a)
			}
		}
		if a.password == "" {
			a.password = getenv(PasswordVariable)
			if a.user == "" && a.password != "" {
				a.user = getenv(UserVariable)
			}
		}
		all = append(all, a)
	}
	return all, nil
}

var database = regexp.MustCompile(`^[0-9]{0,5}$`)

func parseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil { // its text quotes the URL
		return Address{}, errors.New("it is no URL")
	}
	a := Address{host: u.Hostname(), port: u.Port(), db: strings.Trim(u.Path, "/"), tls: u.Scheme == "rediss"}
	if a.port == "" {
		a.port = defaultPort
	}
	if u.User != nil {
		a.user = u.User.Username()
		a.password, _ = u.User.Password()
	}
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return a, errors.New("it must begin with redis:// or, for TLS, rediss://")
	case a.host == "" || u.Opaque != "":
		return a, errors.New("it names no host")
	case !database.MatchString(a.db):
		return a, errors.New("what follows the port must be the number of a database")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		// Options of a client library, such as one to skip verification, are not for a user to pass on.
		return a, errors.New("nothing may follow the database")
	}
	return a, nil
}
