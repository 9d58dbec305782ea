package servers

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Remote is the servers that a user gave: not ours, so nothing there is stopped, set or emptied.
type Remote struct {
	Addresses []Address // of Redis
	Targets   []Target  // of the other stores, one of each at most
	CAFile    string    // certificates to trust with TLS; "": the system's

	roots *x509.CertPool
}

// Named tells whether there are any.
func (r Remote) Named() bool { return len(r.Addresses)+len(r.Targets) > 0 }

// TLS tells whether any server of a store is reached through it.
func (r Remote) TLS(store string) bool {
	return store == Redis && slices.ContainsFunc(r.Addresses, func(a Address) bool { return a.tls })
}

// NewRemote reads addresses (ParseAddresses) and the file of the certificates to trust, which may be "".
func NewRemote(list, caFile string, getenv func(string) string) (Remote, error) {
	r := Remote{CAFile: caFile}
	var err error
	if r.Addresses, err = ParseAddresses(list, getenv); err != nil {
		return Remote{}, err
	}
	if caFile == "" {
		return r, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return Remote{}, fmt.Errorf("certificates to trust: %w", err)
	}
	r.roots = x509.NewCertPool()
	if !r.roots.AppendCertsFromPEM(pem) {
		return Remote{}, fmt.Errorf("certificates to trust: there is none in PEM in %s", caFile)
	}
	return r, nil
}

// tlsConfig is nil where an address is without TLS.
func (r Remote) tlsConfig(a Address) *tls.Config {
	if !a.tls {
		return nil
	}
	return &tls.Config{ServerName: a.host, RootCAs: r.roots, MinVersion: tls.VersionTLS12}
}

// dial makes a connection and says who is there, within what ctx allows.
func (r Remote) dial(ctx context.Context, a Address) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", a.hostPort())
	if err != nil {
		return nil, err
	}
	if config := r.tlsConfig(a); config != nil {
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, fmt.Errorf("tls: %w", err)
		}
		conn = secured
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // as in askInfo
	if err := authenticate(conn, a); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func authenticate(conn net.Conn, a Address) error {
	if a.password == "" {
		return nil
	}
	words := []string{"AUTH", a.password}
	if a.user != "" {
		words = []string{"AUTH", a.user, a.password}
	}
	var command strings.Builder
	fmt.Fprintf(&command, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&command, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := conn.Write([]byte(command.String())); err != nil {
		return fmt.Errorf("say who is there: %w", err)
	}
	reply, err := bufio.NewReader(conn).ReadString('\n') // there is no more than this line to read
	if err != nil {
		return fmt.Errorf("say who is there: %w", err)
	}
	// Nothing but the first word is quoted: a server that does not know the command repeats its arguments.
	word, _, _ := strings.Cut(strings.TrimSpace(reply), " ")
	switch {
	case word == "+OK":
		return nil
	case strings.HasPrefix(word, "-"):
		return fmt.Errorf("it refuses the user or the password (%s)", word[1:])
	}
	return errors.New("it does not answer as a Redis server does")
}

// info asks for a section of INFO.
func (r Remote) info(ctx context.Context, a Address, section string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	conn, err := r.dial(ctx, a)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	info, err := infoOn(conn, section)
	return info, explain(err)
}

// explain says what to do about the answers that a server gives to strangers.
func explain(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "NOAUTH"):
		return fmt.Errorf("it wants a password: put it into %s", PasswordVariable)
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "AUTH"):
		return errors.New("it refuses the user or the password")
	}
	return err
}

// client is for what is more than one question. The caller closes it.
func (r Remote) client(a Address) (*redis.Client, error) {
	opts, err := redis.ParseURL(a.URL())
	if err != nil { // its text may quote the URL
		return nil, fmt.Errorf("%s: the address cannot be read", a)
	}
	opts.TLSConfig = r.tlsConfig(a)
	return quiet(opts), nil
}

// quiet makes a client that sends nothing by itself, on one connection, and gives up when it is told to.
func quiet(opts *redis.Options) *redis.Client {
	opts.ContextTimeoutEnabled = true
	opts.Protocol, opts.DisableIdentity = 2, true
	opts.DialerRetries, opts.PoolSize = 1, 1
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(opts)
}
