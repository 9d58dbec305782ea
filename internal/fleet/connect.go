package fleet

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Address is the address of NATS servers, with what is needed to connect.
type Address struct {
	URL   string // nats://host:port, or tls://host:port, optionally with a user and a password or a token; several are separated by commas
	CA    string // PEM file of certificates; "": the system's
	Creds string // file of credentials of NATS; may be ""

	token        string // "": the environment variable TokenVariable has it
	certificates []byte // in PEM, instead of CA
}

// TokenVariable is the environment variable with a token, so that it need not be an argument, which other users can read.
const TokenVariable = "LOCKBENCH_NATS_TOKEN"

// Check returns an error if the address cannot be used. Off loopback, a connection must be encrypted.
func (a Address) Check() error {
	for server := range strings.SplitSeq(a.URL, ",") {
		u, err := url.Parse(server)
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return fmt.Errorf("%s is no address of NATS", redacted(server))
		}
		if u.Scheme != "tls" && !isLoopback(u.Hostname()) {
			return fmt.Errorf("%s is not encrypted and not on this machine", redacted(server))
		}
	}
	return nil
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// redacted returns a URL without its password or token.
func redacted(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return "the address"
	}
	if u.User != nil {
		u.User = url.User("***")
	}
	return strings.ReplaceAll(u.String(), "%2A", "*")
}

// String returns the address without secrets.
func (a Address) String() string {
	var all []string
	for server := range strings.SplitSeq(a.URL, ",") {
		all = append(all, redacted(server))
	}
	return strings.Join(all, ",")
}

// connect connects to the servers. A connection that breaks is restored, without a limit on the number of attempts.
func (a Address) connect(name string) (*nats.Conn, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	options := append(reconnecting(name), nats.Timeout(callTimeout))
	if token := cmp.Or(a.token, os.Getenv(TokenVariable)); token != "" {
		options = append(options, nats.Token(token))
	}
	if a.Creds != "" {
		options = append(options, nats.UserCredentials(a.Creds))
	}
	if strings.HasPrefix(a.URL, "tls:") {
		config, err := a.encryption()
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Secure(config))
	}
	conn, err := nats.Connect(a.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", a, plain(err))
	}
	return conn, nil
}

func (a Address) encryption() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	pem := a.certificates
	if a.CA != "" {
		var err error
		if pem, err = os.ReadFile(a.CA); err != nil {
			return nil, err
		}
	}
	if pem == nil {
		return config, nil
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM", cmp.Or(a.CA, JoinName))
	}
	return config, nil
}

func reconnecting(name string) []nats.Option {
	return []nats.Option{nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // lost messages are noticed by silence
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2)}
}

var errNobody = errors.New("nothing listens there, or it does not speak NATS")

// plain rewords the most frequent errors of the client library.
func plain(err error) error {
	switch {
	case errors.Is(err, nats.ErrNoServers):
		return errNobody
	case errors.Is(err, nats.ErrAuthorization):
		return errors.New("the token, the user or the password is wrong")
	}
	return err
}
