package proxy

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// startOpaqueServer starts a server with a protocol that the proxy does not know. To each byte, the server replies with
// the byte plus one.
func startOpaqueServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 1)
				for {
					if _, err := io.ReadFull(c, b); err != nil {
						return
					}
					b[0]++
					if _, err := c.Write(b); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func dialOpaque(t *testing.T) (*Link, net.Conn) {
	t.Helper()
	l, err := Listen(startOpaqueServer(t), Opaque)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return l, c
}

// exchange sends a byte and returns the byte in the reply. If no reply arrives, it returns 0.
func exchange(t *testing.T, c net.Conn, ask byte) byte {
	t.Helper()
	if _, err := c.Write([]byte{ask}); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err := io.ReadFull(c, b); err != nil {
		return 0
	}
	return b[0]
}

func TestOpaqueCountsRoundTrips(t *testing.T) {
	l, c := dialOpaque(t)
	for _, ask := range []byte("ace") {
		if got := exchange(t, c, ask); got != ask+1 {
			t.Errorf("asked %c, answered %c", ask, got)
		}
	}
	if got := l.Counters(); got.RoundTrips != 3 || got.Commands != 0 || got.Sent != 3 || got.Received != 3 {
		t.Errorf("%+v", got)
	}
}

// TestOpaqueReplyIsLost checks a rule for SET if the proxy cannot parse the protocol. The rule must match any reply and
// close the connection. The request must have reached the server.
func TestOpaqueReplyIsLost(t *testing.T) {
	l, c := dialOpaque(t)
	if got := exchange(t, c, 'a'); got != 'b' {
		t.Fatalf("answered %c", got)
	}
	var met atomic.Int64
	l.On(Rule{Commands: []string{"SET"}, Nth: 1, Point: Reply, Do: func(context.Context, Command) Fate { met.Add(1); return Close }})
	if got := exchange(t, c, 'c'); got != 0 {
		t.Errorf("answered %c, although the rule closes the connection", got)
	}
	if got := l.Counters(); met.Load() != 1 || got.Sent != 2 || got.Received != 2 {
		t.Errorf("%d calls, %+v: want the request delivered and its answer read", met.Load(), got)
	}
}

// TestOpaqueRequestIsLate checks a Rule that delays a request if the proxy cannot parse the protocol. The request must
// arrive after the delay.
func TestOpaqueRequestIsLate(t *testing.T) {
	l, c := dialOpaque(t)
	held := make(chan bool, 1)
	l.On(Rule{Nth: 1, Point: Request, Do: func(context.Context, Command) Fate {
		held <- l.Counters().Sent == 0
		return Pass
	}})
	if got := exchange(t, c, 'a'); got != 'b' || !<-held {
		t.Errorf("answered %c", got)
	}
}

// TestCutSwallowsStreamEnd checks that Cut drops the end of a stream, and that Counters.Swallowed counts it.
func TestCutSwallowsStreamEnd(t *testing.T) {
	l, c := dialOpaque(t)
	if _, err := c.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	l.Cut(Both)
	if n := l.Counters().Swallowed; n != 0 {
		t.Errorf("%d swallowed without traffic", n)
	}
	c.Close()
	for end := time.Now().Add(10 * time.Second); l.Counters().Swallowed == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the end of the stream was not counted")
		}
	}
}
