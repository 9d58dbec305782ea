package servers

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Target is the servers of one store that a user named by one address, with their secrets. However it is printed, they
// are not.
type Target struct {
	of             *Store
	scheme         string
	hosts          []string // host:port, each a server
	user, password string
	database       string
	option         string // the value of Form.Option
	trusted        *x509.CertPool
}

// Form describes how the servers of a store are named.
type Form struct {
	Like      string         // an example
	Port      string         // if none is named
	Many      bool           // several hosts may be named
	Secret    bool           // it knows users
	Anonymous bool           // a password needs no user
	Secure    string         // the scheme of TLS; "": it is not offered
	Database  *regexp.Regexp // what may be named as a database
	Option    string         // that may follow the database, with any value
	Ignored   string         // option=value that may follow, and means nothing more
	// Rewrite turns other forms of an address into a URL; nil: there are none.
	Rewrite func(string) (string, error)
}

// Target reads what a user named. A password comes from the environment if there is none. Errors quote nothing: what
// cannot be read may have a secret anywhere.
func (s *Store) Target(text string, getenv func(string) string) (Target, error) {
	if s.External == nil {
		return Target{}, fmt.Errorf("servers of %q cannot be named", s.Name)
	}
	return s.named("the address", text, getenv)
}

// Targets reads a list of addresses with commas, of which each names one server.
func (s *Store) Targets(list, caFile string, getenv func(string) string) ([]Target, error) {
	trusted, err := certificates(caFile)
	if err != nil {
		return nil, err
	}
	var all []Target
	for i, text := range strings.Split(list, ",") {
		t, err := s.named(fmt.Sprintf("address %d", i+1), text, getenv)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other Target) bool { return other.hosts[0] == t.hosts[0] }) {
			return nil, fmt.Errorf("address %d: %s is named twice; each must be a server of its own", i+1, t)
		}
		t.trusted = trusted
		all = append(all, t)
	}
	return all, nil
}

func (s *Store) named(name, text string, getenv func(string) string) (Target, error) {
	t, err := s.parse(strings.TrimSpace(text))
	if err == nil && t.password == "" && s.PasswordVariable() != "" {
		t.password = getenv(s.PasswordVariable())
		if t.password != "" && t.user == "" && s.External.Anonymous {
			t.user = getenv(s.UserVariable())
		} else if t.password != "" && t.user == "" {
			return Target{}, fmt.Errorf("%s is set, and the address names no user: want %s", s.PasswordVariable(), s.External.Like)
		}
	}
	if err != nil {
		return Target{}, fmt.Errorf("%s (not shown, it may have a password in it): %w; want %s", name, err, s.External.Like)
	}
	return t, nil
}

// certificates reads those to trust from a file; nil for "".
func certificates(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificates to trust: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("certificates to trust: there is none in PEM in %s", file)
	}
	return pool, nil
}

// PasswordVariable returns the environment variable that keeps the password of a store out of the command line, where
// every process can read it; "": it has none.
func (s *Store) PasswordVariable() string { return s.variable("PASSWORD") }

// UserVariable returns the variable for the user who has that password.
func (s *Store) UserVariable() string { return s.variable("USER") }

func (s *Store) variable(of string) string {
	if s.External == nil || !s.External.Secret {
		return ""
	}
	return "LOCKBENCH_" + strings.ToUpper(s.Name) + "_" + of
}

// address finds the scheme, the user with an @, the hosts, and the rest. It matches every text.
var address = regexp.MustCompile(`(?s)^(.*?)(?:://(.*@)?([^/?#]*)(.*))?$`)

func (s *Store) parse(text string) (Target, error) {
	f := s.External.Form
	if !strings.Contains(text, "://") && f.Many {
		text = s.Name + "://" + text
	}
	if f.Rewrite != nil {
		var err error
		if text, err = f.Rewrite(text); err != nil {
			return Target{}, err
		}
	}
	// A list of hosts is no host to net/url.
	part := address.FindStringSubmatch(text)
	scheme, hosts := part[1], strings.Split(part[3], ",")
	u, err := url.Parse(scheme + "://" + part[2] + "host" + part[4])
	if err != nil { // its text quotes the URL
		return Target{}, errors.New("it is no URL")
	}
	t := Target{of: s, scheme: scheme, database: strings.Trim(u.Path, "/")}
	if u.User != nil {
		t.user = u.User.Username()
		t.password, _ = u.User.Password()
	}
	if err := t.follow(f, u); err != nil {
		return t, err
	}
	if scheme != s.Name && (scheme != f.Secure || f.Secure == "") {
		return t, errors.New("it begins with another protocol")
	}
	return t, t.settle(f, hosts)
}

// follow takes what follows the ? of a URL: little, since options of a client library, such as one to skip verification,
// are not for a user to pass on.
func (t *Target) follow(f Form, u *url.URL) error {
	q := u.Query()
	if f.Option != "" {
		t.option = q.Get(f.Option)
		q.Del(f.Option)
	}
	if name, value, _ := strings.Cut(f.Ignored, "="); q.Get(name) == value {
		q.Del(name)
	}
	if len(q) > 0 || u.ForceQuery || u.Fragment != "" {
		return errors.New("nothing may follow the database that lockbench does not know; TLS is offered with Redis only")
	}
	return nil
}

// settle takes the hosts, and returns what is wrong with the whole.
func (t *Target) settle(f Form, hosts []string) error {
	for _, h := range hosts {
		host, port, err := net.SplitHostPort(h)
		if err != nil {
			host, port = strings.Trim(h, "[]"), f.Port
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return errors.New("its port is no number")
		}
		if host == "" || strings.ContainsAny(host, " @/") {
			return errors.New("it names no host")
		}
		t.hosts = append(t.hosts, net.JoinHostPort(host, port))
	}
	slices.Sort(t.hosts)
	switch {
	case len(slices.Compact(slices.Clone(t.hosts))) < len(t.hosts):
		return errors.New("a server is named twice")
	case len(t.hosts) > 1 && !f.Many:
		return errors.New("it names several servers, and one is wanted")
	case t.user != "" && !f.Secret:
		return errors.New("it names a user, and this store is asked without")
	case t.password != "" && t.user == "" && !f.Anonymous:
		return errors.New("it has a password and no user")
	case !f.Database.MatchString(t.database):
		return errors.New("what follows the port must be the database, as in the example")
	}
	return nil
}

// Store returns the name of the store.
func (t Target) Store() string { return t.of.Name }

// Hosts returns host:port of each server.
func (t Target) Hosts() []string { return t.hosts }

// User, Password and Database are what the address names.
func (t Target) User() string     { return t.user }
func (t Target) Password() string { return t.password }
func (t Target) Database() string { return t.database }

// TLS is nil without it.
func (t Target) TLS() *tls.Config {
	if t.of.External.Secure == "" || t.scheme != t.of.External.Secure {
		return nil
	}
	host, _, _ := net.SplitHostPort(t.hosts[0]) // settle has joined them
	return &tls.Config{ServerName: host, RootCAs: t.trusted, MinVersion: tls.VersionTLS12}
}

// URL returns the whole address of one of its servers, for connecting. It must not be shown: print the Target itself.
func (t Target) URL(host string) string {
	u := t.bare(host)
	switch {
	case t.password != "":
		u.User = url.UserPassword(t.user, t.password)
	case t.user != "":
		u.User = url.User(t.user)
	}
	return u.String()
}

func (t Target) bare(host string) url.URL {
	u := url.URL{Scheme: t.scheme, Host: host}
	if t.database != "" || t.option != "" {
		u.Path = "/" + t.database
	}
	if t.option != "" {
		u.RawQuery = url.Values{t.of.External.Option: {t.option}}.Encode()
	}
	return u
}

func (t Target) at(host string) Target {
	t.hosts = []string{host}
	return t
}

// String shows *** in place of the password; of a user alone too, which may be one.
func (t Target) String() string {
	u := t.bare(strings.Join(t.hosts, ","))
	switch {
	case t.user != "" && t.password != "":
		return strings.Replace(u.String(), "://", "://"+url.User(t.user).String()+":***@", 1)
	case t.user != "" || t.password != "":
		return strings.Replace(u.String(), "://", "://***@", 1)
	}
	return u.String()
}

// GoString is for %#v, which would otherwise print every field.
func (t Target) GoString() string { return t.String() }

// hide takes the password out of the text of an error.
func (t Target) hide(err error) error {
	if err == nil || t.password == "" {
		return err
	}
	text := err.Error()
	for _, secret := range []string{t.password, url.QueryEscape(t.password), url.PathEscape(t.password), fmt.Sprintf("%q", t.password)} {
		text = strings.ReplaceAll(text, strings.Trim(secret, `"`), "***")
	}
	return errors.New(text)
}
