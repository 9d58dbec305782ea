package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// What is wrong with an address before anybody tries to listen on it.
var (
	ErrNotLoopback = errors.New("the address can be reached from other machines, and the pages have no password")
	ErrNoAddress   = errors.New("want host:port, such as 127.0.0.1:7070")
)

// Listen listens on an address that nobody but this machine can reach, or on any where anyone may look.
func Listen(address string, anyone bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", address, ErrNoAddress)
	}
	if !anyone && !loopback(host) {
		return nil, fmt.Errorf("address %q: %w", address, ErrNotLoopback)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	// A name may have been resolved to something else than it says.
	if a, ok := l.Addr().(*net.TCPAddr); !anyone && (!ok || !a.IP.IsLoopback()) {
		return nil, errors.Join(fmt.Errorf("address %q: %w", address, ErrNotLoopback), l.Close())
	}
	return l, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Run answers requests until the context ends; what is under way then is given a moment.
func (s *Server) Run(ctx context.Context, l net.Listener, bound string) error {
	server := &http.Server{
		Handler:           s.Handler(bound),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute, // a long history takes its time
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	moment, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := server.Shutdown(moment); err != nil {
		return server.Close() // somebody's request is cut off: nothing is lost by that
	}
	return nil
}
