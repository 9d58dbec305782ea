package redis

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/impls"
)

func TestReachKeepsSecretsAndVerifies(t *testing.T) {
	opts, err := Options(impls.Env{}, "rediss://:s3same@host:1?skip_verify=true")
	if err != nil || opts.TLSConfig.InsecureSkipVerify {
		t.Errorf("verification is skipped, or %v", err)
	}
	_, err = Options(impls.Env{}, "redis://:%zzs3same@host")
	if err == nil || strings.Contains(err.Error(), "s3same") {
		t.Error(err)
	}
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{empty, empty + ".missing"} {
		if _, err := Options(impls.Env{CAFile: file}, "rediss://host"); err == nil {
			t.Errorf("%s: want an error for a file without certificates", file)
		}
	}
}

// TestReachSecuresAnyNetwork checks that a connection uses TLS even if the Env has a dialer.
func TestReachSecuresAnyNetwork(t *testing.T) {
	near, far := net.Pipe()
	env := impls.Env{Dial: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
	opts, err := Options(env, "rediss://host")
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 1)
	go func() { _, _ = far.Read(first); far.Close() }()
	if _, err := opts.Dialer(t.Context(), "tcp", "host:1"); err == nil {
		t.Error("the handshake succeeded without a server")
	}
	const handshake = 22 // first byte of a TLS handshake
	if first[0] != handshake {
		t.Errorf("the first byte sent is %d, want that of a handshake", first[0])
	}
	none := errors.New("no network")
	env.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, none }
	if opts, _ = Options(env, "rediss://host"); opts == nil {
		t.Fatal("no options")
	}
	if _, err := opts.Dialer(t.Context(), "tcp", "host:1"); !errors.Is(err, none) {
		t.Error(err)
	}
}
