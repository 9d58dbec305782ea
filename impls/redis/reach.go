package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
)

// Options is how to connect to a server: where, as whom, by which network, trusting whom. Its errors do not
// quote the URL, which may have a password in it.
func Options(env impls.Env, url string) (*redis.Options, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the URL of a server cannot be read")
	}
	opts.Dialer = env.Dial
	if opts.TLSConfig == nil {
		return opts, nil
	}
	opts.TLSConfig.InsecureSkipVerify = false // a URL can ask for it
	if env.CAFile != "" {
		pem, err := os.ReadFile(env.CAFile)
		if err != nil {
			return nil, fmt.Errorf("certificates to trust: %w", err)
		}
		opts.TLSConfig.RootCAs = x509.NewCertPool()
		if !opts.TLSConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificates to trust: there is none in PEM in %s", env.CAFile)
		}
	}
	if env.Dial != nil {
		opts.Dialer = secured(env.Dial, opts.TLSConfig)
	}
	return opts, nil
}

// secured adds TLS to a network: the client library does so only for its own.
func secured(dial impls.Dialer, config *tls.Config) impls.Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c := tls.Client(conn, config)
		if err := c.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return c, nil
	}
}
