package servers

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Target is the servers of one store other than Redis that a user named, with their secrets. However it is printed,
// they are not.
type Target struct {
	store          string
	hosts          []string // host:port, each a server
	user, password string
	database       string
	source         string // MongoDB's authSource: where the user is known
}

// form is how the servers of a store are named: one line each.
type form struct {
	store    string
	like     string // an example
	port     string // where none is named
	many     bool   // several hosts may be named
	secret   bool   // it knows users
	database bool   // one must be named
}

func forms() []form {
	return []form{
		{store: MySQL, like: "mysql://user@host:3306/database", port: "3306", secret: true, database: true},
		{store: Postgres, like: "postgres://user@host:5432/database", port: "5432", secret: true, database: true},
		{store: MongoDB, like: "mongodb://host:27017", port: "27017", secret: true},
		{store: ZooKeeper, like: "host:2181,host:2181", port: "2181", many: true},
		{store: Etcd, like: "host:2379,host:2379", port: "2379", many: true, secret: true},
	}
}

// Targets are the stores other than Redis whose servers a user may name, each with an example.
func Targets() (stores, like []string) {
	for _, f := range forms() {
		stores, like = append(stores, f.store), append(like, f.like)
	}
	return stores, like
}

// PasswordOf is the variable that keeps the password of a store out of the command line; "": it has none.
func PasswordOf(store string) string {
	f, _ := formOf(store)
	if !f.secret {
		return ""
	}
	return "LOCKBENCH_" + strings.ToUpper(store) + "_PASSWORD"
}

func formOf(store string) (form, error) {
	all := forms()
	i := slices.IndexFunc(all, func(f form) bool { return f.store == store })
	if i < 0 {
		return form{}, fmt.Errorf("servers of %q cannot be named", store)
	}
	return all[i], nil
}

// ParseTarget reads what a user named. A password comes from the environment where there is none. Its errors quote
// nothing: what cannot be read may have a secret anywhere.
func ParseTarget(store, text string, getenv func(string) string) (Target, error) {
	f, err := formOf(store)
	if err != nil {
		return Target{}, err
	}
	t, err := f.parse(strings.TrimSpace(text))
	if err == nil && t.password == "" && f.secret && getenv(PasswordOf(store)) != "" {
		if t.user == "" {
			return Target{}, fmt.Errorf("%s is set, and the address names no user: want %s", PasswordOf(store), f.like)
		}
		t.password = getenv(PasswordOf(store))
	}
	if err != nil {
		return Target{}, fmt.Errorf("the address (not shown, it may have a password in it): %w; want %s", err, f.like)
	}
	return t, nil
}

func (f form) parse(text string) (Target, error) {
	if f.store == MySQL && !strings.Contains(text, "://") {
		return f.ofDriver(text)
	}
	if !strings.Contains(text, "://") && f.many {
		text = f.store + "://" + text
	}
	text = strings.Replace(text, "postgresql://", "postgres://", 1)
	if f.store == Etcd {
		text = strings.Replace(text, "http://", "etcd://", 1)
	}
	// A list of hosts is no host to net/url.
	scheme, rest, _ := strings.Cut(text, "://")
	before, after := "", rest
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		before, after = rest[:i+1], rest[i+1:]
	}
	end := strings.IndexAny(after, "/?#")
	if end < 0 {
		end = len(after)
	}
	u, err := url.Parse(scheme + "://" + before + "host" + after[end:])
	if err != nil { // its text quotes the URL
		return Target{}, errors.New("it is no URL")
	}
	t := Target{store: f.store, database: strings.Trim(u.Path, "/")}
	if u.User != nil {
		t.user = u.User.Username()
		t.password, _ = u.User.Password()
	}
	if err := t.follow(u); err != nil {
		return t, err
	}
	if scheme != f.store {
		return t, errors.New("it begins with another protocol")
	}
	return t, f.settle(&t, strings.Split(after[:end], ","))
}

// follow takes what follows the ? of a URL: little, since options of a client library are not for a user to pass on.
func (t *Target) follow(u *url.URL) error {
	q := u.Query()
	if t.store == MongoDB {
		t.source = q.Get("authSource")
		q.Del("authSource")
		if q.Get("directConnection") == "true" {
			q.Del("directConnection")
		}
	}
	if t.store == Postgres && q.Get("sslmode") == "disable" {
		q.Del("sslmode")
	}
	if len(q) > 0 || u.Fragment != "" {
		return errors.New("there is something after the database that lockbench does not know; TLS is offered with Redis only")
	}
	return nil
}

// ofDriver reads the form that Go's driver for MySQL has: user:password@tcp(host:port)/database.
func (f form) ofDriver(text string) (Target, error) {
	c, err := mysql.ParseDSN(text)
	if err != nil { // its text may quote
		return Target{}, errors.New("it is neither a URL nor user@tcp(host:port)/database")
	}
	if c.Net != "tcp" {
		return Target{}, errors.New("it is not reached by tcp")
	}
	if strings.Contains(text[max(0, strings.LastIndex(text, "/")):], "?") {
		return Target{}, errors.New("there is something after the database, and no option is known")
	}
	t := Target{store: f.store, user: c.User, password: c.Passwd, database: c.DBName}
	return t, f.settle(&t, []string{c.Addr})
}

// settle puts the hosts in, and finds out what is wrong with the whole.
func (f form) settle(t *Target, hosts []string) error {
	for _, h := range hosts {
		host, port, err := net.SplitHostPort(h)
		if err != nil {
			host, port = strings.Trim(h, "[]"), f.port
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
	case len(t.hosts) > 1 && !f.many:
		return errors.New("it names several servers, and one is wanted")
	case t.user != "" && !f.secret:
		return errors.New("it names a user, and this store is asked without")
	case t.password != "" && t.user == "":
		return errors.New("it has a password and no user")
	case f.database && t.database == "":
		return errors.New("it names no database")
	case f.many && t.database != "":
		return errors.New("nothing may follow the port")
	case strings.Contains(t.database, "/"):
		return errors.New("what follows the port must be the name of a database")
	}
	return nil
}

// Store is what is there.
func (t Target) Store() string { return t.store }

// URL is the whole address of one of its servers, for who connects. It is not for anybody's eyes.
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
	u := url.URL{Scheme: t.store, Host: host}
	if t.database != "" || t.source != "" {
		u.Path = "/" + t.database
	}
	if t.source != "" {
		u.RawQuery = url.Values{"authSource": {t.source}}.Encode()
	}
	return u
}

// String shows *** in place of the password; of a user alone too, which may be one.
func (t Target) String() string {
	u := t.bare(strings.Join(t.hosts, ","))
	switch {
	case t.password != "":
		return strings.Replace(u.String(), "://", "://"+url.User(t.user).String()+":***@", 1)
	case t.user != "":
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
