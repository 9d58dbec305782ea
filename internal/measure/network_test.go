package measure

import (
	"io"
	"net"
	"testing"
	"time"
)

// echo answers each byte on a connection with one byte.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	return l.Addr().String()
}

// TestNetworkCounts checks that several writes before a read count as one round trip, and that answers can be delayed.
func TestNetworkCounts(t *testing.T) {
	n := &network{delay: 20 * time.Millisecond}
	c, err := n.dial(t.Context(), "tcp", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	begun := time.Now()
	for range 3 {
		for _, part := range []string{"a", "b"} {
			if _, err := io.WriteString(c, part); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(c, make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if trips, bytes := n.roundTrips.Load(), n.bytes.Load(); trips != 3 || bytes != 12 {
		t.Errorf("%d round trips with %d bytes, want 3 with 12", trips, bytes)
	}
	if took := time.Since(begun); took < 60*time.Millisecond {
		t.Errorf("three answers, each held up for %v, took %v", n.delay, took)
	}
}
