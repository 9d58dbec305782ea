package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Kinds of servers under test: the emulator and a real server. This test starts them itself, because the packages that
// usually start servers import package proxy.
const embedded, local = "embedded", "local"

// eachServer runs a test on the emulator and, if installed, on a real server.
func eachServer(t *testing.T, test func(t *testing.T, addr string)) {
	for _, how := range []string{embedded, local} {
		t.Run(how, func(t *testing.T) {
			test(t, server(t, how))
		})
	}
}

// server starts a server and returns its address.
func server(t testing.TB, how string) string {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); how == local && err != nil {
		const missing = "redis-server is not on the PATH: apt install redis-server"
		if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), "redis-server") {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	settles(t)
	if how == embedded {
		return miniredis.RunT(t).Addr()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the server was killed, so Wait returns an error
	})
	waitUntil(t, "the server listens", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return addr
}

// client returns a client that does not retry failed commands.
func client(t *testing.T, addr string, protocol int) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: protocol, MaxRetries: -1, DialerRetries: 1,
		ContextTimeoutEnabled: true, PoolSize: 1, ReadTimeout: soon, DisableIdentity: true})
	t.Cleanup(func() { c.Close() })
	return c
}

func set(t *testing.T, c redis.Cmdable, key string) {
	t.Helper()
	if err := c.Set(t.Context(), key, key, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestReplyLost(t *testing.T) {
	for _, fate := range []Fate{Close, Silent} {
		eachServer(t, func(t *testing.T, addr string) {
			l := listen(t, addr)
			c, direct := client(t, l.Addr(), 3), client(t, addr, 2)
			l.On(Rule{Commands: []string{"SET"}, Nth: 3, Point: Reply, Do: always(fate)})
			set(t, c, "k1")
			set(t, c, "k2")
			if v, err := c.Get(t.Context(), "k2").Result(); v != "k2" || err != nil {
				t.Errorf("%q, %v", v, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			if fate == Silent {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
			}
			err := c.Set(ctx, "k3", "k3", 0).Err()
			var timed interface{ Timeout() bool }
			if late := errors.As(err, &timed) && timed.Timeout(); err == nil || late != (fate == Silent) {
				t.Errorf("the third: %v", err)
			}
			for _, key := range []string{"k1", "k2", "k3"} {
				if v, err := direct.Get(t.Context(), key).Result(); v != key || err != nil {
					t.Errorf("the server has %q of %s: %v", v, key, err)
				}
			}
			set(t, c, "k4")
			if v, err := c.Get(t.Context(), "k4").Result(); v != "k4" || err != nil {
				t.Errorf("after that: %q, %v", v, err)
			}
		})
	}
}

// TestRequestLost loses one command of a pipeline. Only the earlier commands must be executed.
func TestRequestLost(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		l := listen(t, addr)
		c, direct := client(t, l.Addr(), 3), client(t, addr, 2)
		set(t, c, "k0")
		l.On(Rule{Commands: []string{"set"}, Nth: 2, Point: Request, Do: always(Close)})
		_, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for i := range 4 {
				p.Set(t.Context(), fmt.Sprintf("k%d", i), "new", 0)
			}
			return nil
		})
		if err == nil {
			t.Error("the pipeline succeeded")
		}
		waitUntil(t, "the commands before were executed", func() bool {
			return direct.Get(t.Context(), "k0").Val() == "new"
		})
		if n := direct.Exists(t.Context(), "k1", "k2", "k3").Val(); n != 0 {
			t.Errorf("%d commands after it were executed", n)
		}
	})
}

func TestMessages(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			eachServer(t, func(t *testing.T, addr string) { dropSecond(t, addr, protocol) })
		})
	}
}

// dropSecond starts two subscribers with one proxy each. One of the proxies drops the second message.
func dropSecond(t *testing.T, addr string, protocol int) {
	deaf, sound := listen(t, addr), listen(t, addr)
	met := make(chan Command, 10)
	deaf.On(Rule{Commands: []string{"not looked at"}, Point: Message, Nth: 2, Do: func(_ context.Context, c Command) Fate {
		met <- c
		return Drop
	}})
	first, second := subscriber(t, deaf, protocol), subscriber(t, sound, protocol)
	direct := client(t, addr, 2)
	publish := func(channel, text string, to ...*redis.PubSub) {
		t.Helper()
		if err := direct.Publish(t.Context(), channel, text).Err(); err != nil {
			t.Fatal(err)
		}
		// Receive the message before publishing the next one, because the emulator may reorder messages.
		for _, s := range to {
			got, err := s.ReceiveTimeout(t.Context(), soon)
			if message, ok := got.(*redis.Message); err != nil || !ok || message.Payload != text {
				t.Fatalf("got %v where %q is next: %v", got, text, err)
			}
		}
	}
	publish("c", "one", first, second)
	publish("pat", "two", second)
	select {
	case c := <-met:
		if c.Name != "PMESSAGE" || len(c.Args) != 4 || c.Args[3] != "two" {
			t.Errorf("called with %+v", c)
		}
	case <-time.After(soon):
		t.Fatal("the rule was not called")
	}
	publish("other", "three", first, second)
}

// subscriber returns a client whose subscriptions are confirmed.
func subscriber(t *testing.T, l *Link, protocol int) *redis.PubSub {
	t.Helper()
	s := client(t, l.Addr(), protocol).Subscribe(t.Context(), "c", "other")
	t.Cleanup(func() { s.Close() })
	if err := s.PSubscribe(t.Context(), "p*"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.ReceiveTimeout(t.Context(), soon); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestCounted(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		l := listen(t, addr)
		// Use one connection, because each new connection of a pool sends additional commands.
		c := client(t, l.Addr(), 3).Conn()
		defer c.Close()
		set(t, c, "k") // the first command opens the connection, so the counters below exclude the setup
		before := l.Counters()
		if _, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for range 10 {
				p.Incr(t.Context(), "n")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.TxPipelined(t.Context(), func(p redis.Pipeliner) error { return p.Incr(t.Context(), "n").Err() }); err != nil {
			t.Fatal(err)
		}
		c.Eval(t.Context(), "return {1, {2, 'three'}, redis.call('GET', KEYS[1])}", []string{"k"})
		after := l.Counters()
		if n := after.Commands - before.Commands; n != 10+3+1 {
			t.Errorf("%d commands", n)
		}
		if n := after.RoundTrips - before.RoundTrips; n != 3 {
			t.Errorf("%d round trips", n)
		}
	})
}

func TestLongValue(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		l := listen(t, addr)
		c := client(t, l.Addr(), 3)
		value := strings.Repeat("0123456789", 500_000)
		met := make(chan Command, 10)
		note := func(_ context.Context, c Command) Fate { met <- c; return Pass }
		l.On(Rule{Commands: []string{"SET"}, Point: Request, Do: note})
		l.On(Rule{Commands: []string{"GET"}, Point: Reply, Do: note})
		if err := c.Set(t.Context(), "k", value, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Get(t.Context(), "k").Result(); got != value || err != nil {
			t.Errorf("%d bytes came back: %v", len(got), err)
		}
		if c := <-met; c.Name != "SET" || len(c.Args) != 3 || c.Args[2] != value[:maxArg] {
			t.Errorf("called with %+v", c)
		}
		if c := <-met; c.Name != "GET" || c.Args[1] != "k" {
			t.Errorf("called with %+v", c)
		}
		l.On(Rule{Commands: []string{"GET"}, Nth: 1, Point: Reply, Do: always(Close)})
		if _, err := c.Get(t.Context(), "k").Result(); err == nil {
			t.Error("a complete reply arrived, although its end was dropped")
		}
	})
}

// TestPairing sends commands to a real server, and checks that each reply is matched with the right command.
func TestPairing(t *testing.T) {
	addr := server(t, local)
	for _, c := range []struct {
		name    string
		script  []string // requests to send, in order
		replies []string // commands whose replies must be matched, in order
	}{
		{"plain", []string{"PING", "GET x", "EVAL return 0", "NOSUCH"}, []string{"PING", "GET x", "EVAL return 0", "NOSUCH"}},
		{"transaction", []string{"MULTI", "SET x 1", "EXEC"}, []string{"MULTI", "SET x 1", "EXEC"}},
		{"RESP2", []string{"SUBSCRIBE a b a", "PSUBSCRIBE p*", "PUBLISH", "PING", "UNSUBSCRIBE", "PUNSUBSCRIBE", "GET x"},
			[]string{"SUBSCRIBE a b a", "PSUBSCRIBE p*", "PUBLISH", "PING", "UNSUBSCRIBE", "PUNSUBSCRIBE", "GET x"}},
		{"RESP3", []string{"HELLO 3", "SUBSCRIBE a b", "GET x", "SSUBSCRIBE s", "PUBLISH a hi", "RPUSH l message a b", "LRANGE l 0 -1", "SUNSUBSCRIBE", "UNSUBSCRIBE a", "PING",
			"UNSUBSCRIBE", "UNSUBSCRIBE", "GET x"},
			[]string{"HELLO 3", "SUBSCRIBE a b", "GET x", "SSUBSCRIBE s", "PUBLISH a hi", "RPUSH l message a b", "LRANGE l 0 -1", "SUNSUBSCRIBE", "UNSUBSCRIBE a", "PING",
				"UNSUBSCRIBE", "UNSUBSCRIBE", "GET x"}},
		{"an error", []string{"SUBSCRIBE", "GET x"}, []string{"SUBSCRIBE", "GET x"}},
		{"reset", []string{"SUBSCRIBE a", "RESET", "SUBSCRIBE a", "UNSUBSCRIBE", "PING"}, []string{"SUBSCRIBE a", "RESET", "SUBSCRIBE a", "UNSUBSCRIBE", "PING"}},
		{"without replies", []string{"PING", "CLIENT REPLY SKIP", "PING", "GET x"}, []string{"PING"}},
	} {
		for _, pipelined := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", c.name, pipelined), func(t *testing.T) { pair(t, addr, c.script, c.replies, pipelined) })
		}
	}
}

// TestOtherPushes checks a push that is neither a message nor a confirmation. It must not be matched with a command.
func TestOtherPushes(t *testing.T) {
	var p pairing
	p.ask(Command{Name: "SET"}, 3)
	if _, c, known := p.came(&frame{kind: '>', args: []string{"invalidate"}, count: 2}); known {
		t.Errorf("the push was matched with %q", c.Name)
	}
	if at, c, known := p.came(&frame{kind: '+'}); !known || at != Reply || c.Name != "SET" {
		t.Errorf("the reply was matched with %q", c.Name)
	}
}

func pair(t *testing.T, addr string, script, want []string, pipelined bool) {
	settles(t)
	l := listen(t, addr)
	known := make(chan string, 100)
	l.On(Rule{Point: Reply, Do: func(_ context.Context, c Command) Fate {
		known <- strings.Join(c.Args, " ")
		return Pass
	}})
	conn, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sep := "\r\n"
	if pipelined {
		fmt.Fprint(conn, strings.Join(script, sep)+sep)
	}
	for i, command := range script {
		if !pipelined {
			fmt.Fprint(conn, command+sep)
		}
		if i >= len(want) {
			continue
		}
		select {
		case got := <-known:
			if got != want[i] {
				t.Fatalf("a reply to %q was matched with %q", want[i], got)
			}
		case <-time.After(soon):
			t.Fatalf("the reply to %q was not matched", want[i])
		}
	}
	conn.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if len(known) > 0 {
		t.Errorf("%q was matched", <-known)
	}
}

// BenchmarkPair measures the latency of a SET command, sent directly to the server or through the proxy (type Link).
func BenchmarkPair(b *testing.B) {
	addr := server(b, local)
	l, err := Listen(addr, RESP)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for _, way := range []struct{ name, addr string }{{"direct", addr}, {"link", l.Addr()}} {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", way.name, clients), func(b *testing.B) {
				c := redis.NewClient(&redis.Options{Addr: way.addr, PoolSize: clients})
				defer c.Close()
				b.SetParallelism(max(1, clients/2))
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := c.Set(context.Background(), "k", "v", 0).Err(); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}
