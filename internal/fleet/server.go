package fleet

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Listen describes where the server in the coordinator's process listens. The zero value listens nowhere.
type Listen struct {
	URL       string // nats://host:port, or tls://host:port
	Cert, Key string // PEM files for tls://; "": Secure makes them

	token string // made by Secure; "": the environment variable TokenVariable has it
}

// queueServer is the NATS server in the coordinator's process.
type queueServer struct {
	*server.Server
	folder string // folder of JetStream, which stays empty: all messages are kept in memory
	token  string
}

// startServer starts a server. Its folder is in the given one, so that a killed process leaves nothing elsewhere, and what it
// leaves there is removed by the next one.
func startServer(l Listen, in string) (*queueServer, error) {
	folder := filepath.Join(in, ".queue")
	if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700)); err != nil {
		return nil, err
	}
	s := &queueServer{folder: folder, token: cmp.Or(l.token, os.Getenv(TokenVariable))}
	options, err := l.options(folder)
	if err == nil {
		options.Authorization = s.token
		s.Server, err = server.NewServer(options)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	go s.Start()
	if !s.ReadyForConnections(2 * callTimeout) {
		return nil, errors.Join(fmt.Errorf("listen on %s: the address cannot be used", redacted(l.URL)), s.close())
	}
	return s, nil
}

// options returns the options of the server.
func (l Listen) options(folder string) (*server.Options, error) {
	o := &server.Options{ServerName: "lockbench", NoLog: true, NoSigs: true, DontListen: true, MaxPayload: mostPayload, MaxPending: 8 * mostPayload,
		JetStream: true, StoreDir: filepath.Join(folder, "jetstream"), JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 1 << 20}
	if l.URL == "" {
		return o, nil
	}
	u, _ := url.Parse(l.URL) // Check has parsed it
	o.DontListen, o.Host = false, u.Hostname()
	o.Port, _ = strconv.Atoi(u.Port())
	if u.Scheme == "tls" {
		pair, err := tls.LoadX509KeyPair(l.Cert, l.Key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate: %w", err)
		}
		o.TLSConfig, o.TLSTimeout = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, callTimeout.Seconds()
	}
	return o, nil
}

// Check returns an error if the server cannot listen there. Off loopback, it must encrypt and ask for a token.
func (l Listen) Check() error {
	if err := (Address{URL: l.URL}).Check(); err != nil {
		return err
	}
	u, _ := url.Parse(l.URL)
	port, err := strconv.Atoi(u.Port())
	switch {
	case err != nil || port < 1 || port > 65535:
		return fmt.Errorf("%s has no port", redacted(l.URL))
	case u.User != nil:
		return fmt.Errorf("the token is read from %s, not from the address", TokenVariable)
	case (l.Cert == "") != (l.Key == ""):
		return errors.New("a certificate needs its key, and a key its certificate")
	case l.Cert != "" && os.Getenv(TokenVariable) == "":
		return fmt.Errorf("an address off this machine needs a token in %s", TokenVariable)
	}
	free, err := net.Listen("tcp", u.Host)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", u.Host, errors.Unwrap(err))
	}
	return free.Close()
}

// connect connects within the process.
func (s *queueServer) connect(name string) (*nats.Conn, error) {
	options := append(reconnecting(name), nats.InProcessServer(s.Server))
	if s.token != "" {
		options = append(options, nats.Token(s.token))
	}
	return nats.Connect("", options...)
}

func (s *queueServer) close() error {
	s.Shutdown()
	s.WaitForShutdown()
	return os.RemoveAll(s.folder)
}

// newID returns a random name of a campaign.
func newID() string {
	return rand.Text()[:16]
}
