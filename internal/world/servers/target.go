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

// Target is the address of one or more servers of a user. The address may contain secrets, which are omitted when a
// Target is printed.
type Target struct {
	of             *Store
	scheme         string
	hosts          []string // address of each server as host:port
	user, password string
	database       string
	option         string // value of the URL option Form.Option
	trusted        *x509.CertPool
}

// Form describes the format of a store's addresses.
type Form struct {
	Example   string         // example of an address
	Port      string         // port if the address has none
	Many      bool           // whether an address may name several hosts
	Secret    bool           // whether a user name is allowed, with or without a password
	Anonymous bool           // whether a password without a user name is allowed
	Secure    string         // URL scheme for TLS; "": TLS is not supported
	Database  *regexp.Regexp // matches valid database names
	Option    string         // name of a URL option that may follow the database; "": none
	Ignored   string         // ignored URL option in the form name=value; "": none
	// Rewrite converts an address in another format to a URL. It may be nil.
	Rewrite func(string) (string, error)
}

// Target parses an address. If the address has no password, Target reads the password from the environment. Errors
// never quote the address, because it may contain a secret.
func (s *Store) Target(text string, getenv func(string) string) (Target, error) {
	if s.External == nil {
		return Target{}, fmt.Errorf("servers of %q cannot be given by address", s.Name)
	}
	return s.named("the address", text, getenv)
}

// Targets parses a comma-separated list of addresses. Each address names a single server.
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
			return nil, fmt.Errorf("address %d: %s is listed twice; list different servers", i+1, t)
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
			return Target{}, fmt.Errorf("%s is set, but the address names no user: want %s", s.PasswordVariable(), s.External.Example)
		}
	}
	if err != nil {
		return Target{}, fmt.Errorf("%s (hidden, it may contain a password): %w; want %s", name, err, s.External.Example)
	}
	return t, nil
}

func certificates(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read CA certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read CA certificates: %s contains no PEM certificate", file)
	}
	return pool, nil
}

// PasswordVariable returns the name of the environment variable for the store's password, or "" if the store has none.
// Lockbench reads passwords from the environment, because other users of the machine can see a command line.
func (s *Store) PasswordVariable() string { return s.variable("PASSWORD") }

// UserVariable returns the name of the environment variable for the store's user name, or "" if the store has none.
func (s *Store) UserVariable() string { return s.variable("USER") }

func (s *Store) variable(of string) string {
	if s.External == nil || !s.External.Secret {
		return ""
	}
	return "LOCKBENCH_" + strings.ToUpper(s.Name) + "_" + of
}

// address splits any text into the scheme, the user including the @ character, the hosts, and the rest.
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
	// Parse the address with a placeholder host, because net/url rejects a list of hosts.
	part := address.FindStringSubmatch(text)
	scheme, hosts := part[1], strings.Split(part[3], ",")
	u, err := url.Parse(scheme + "://" + part[2] + "host" + part[4])
	if err != nil { // omit err, because its text quotes the URL with a possible password
		return Target{}, errors.New("not a URL")
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
		return t, errors.New("wrong protocol")
	}
	return t, t.settle(f, hosts)
}

// follow parses the options after the database in an address. It rejects unknown options. An unknown option could
// disable certificate verification.
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
		return errors.New("unknown option after the database (TLS is supported for Redis only)")
	}
	return nil
}

func (t *Target) settle(f Form, hosts []string) error {
	for _, h := range hosts {
		host, port, err := net.SplitHostPort(h)
		if err != nil {
			host, port = strings.Trim(h, "[]"), f.Port
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return errors.New("the port is not a number")
		}
		if host == "" || strings.ContainsAny(host, " @/") {
			return errors.New("no host")
		}
		t.hosts = append(t.hosts, net.JoinHostPort(host, port))
	}
	slices.Sort(t.hosts)
	switch {
	case len(slices.Compact(slices.Clone(t.hosts))) < len(t.hosts):
		return errors.New("a server is listed twice")
	case len(t.hosts) > 1 && !f.Many:
		return errors.New("several servers, want one")
	case t.user != "" && !f.Secret:
		return errors.New("users are not supported for this store")
	case t.password != "" && t.user == "" && !f.Anonymous:
		return errors.New("a password without a user")
	case !f.Database.MatchString(t.database):
		return errors.New("no valid database after the port")
	}
	return nil
}

// Store returns the name of the store.
func (t Target) Store() string { return t.of.Name }

// Hosts returns the address of each server as host:port.
func (t Target) Hosts() []string { return t.hosts }

// User returns the user name in the address, or "" if the address has no user name.
func (t Target) User() string { return t.user }

// Password returns the password of the user, or "" if the user has no password.
func (t Target) Password() string { return t.password }

// Database returns the database in the address, or "" if the address has no database.
func (t Target) Database() string { return t.database }

// TLS returns the TLS configuration. It returns nil for a plain connection.
func (t Target) TLS() *tls.Config {
	if t.of.External.Secure == "" || t.scheme != t.of.External.Secure {
		return nil
	}
	host, _, _ := net.SplitHostPort(t.hosts[0]) // cannot fail, because the address was built from a host and a port
	return &tls.Config{ServerName: host, RootCAs: t.trusted, MinVersion: tls.VersionTLS12}
}

// URL returns the address of one server, including the password. To print an address, print the Target instead.
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

// String returns the address with *** in place of the password. Without a password, *** replaces the user name.
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

// GoString returns the result of String, so that %#v prints no secrets.
func (t Target) GoString() string { return t.String() }

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
