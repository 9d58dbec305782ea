package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const soon = 20 * time.Second // maximum wait for an event that should occur immediately

// settles checks at the end of a test that the test has left no goroutine. Call it at the start of the test.
func settles(t testing.TB) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		waitUntil(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
	})
}

func waitUntil(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func listen(t *testing.T, upstream string) *Link {
	t.Helper()
	l, err := Listen(upstream, RESP)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// serve starts a server. For every new connection, the server calls each and then closes the connection.
func serve(t *testing.T, each func(*net.TCPConn)) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				each(conn.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() { listener.Close(); running.Wait() })
	return listener.Addr().String()
}

// answering replies to each line with the same line as a RESP simple string.
func answering(conn *net.TCPConn) {
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		_, _ = io.WriteString(conn, "+"+lines.Text()+"\r\n")
	}
}

// rawClient is a client that sends and receives raw bytes.
type rawClient struct {
	*net.TCPConn
	t *testing.T
}

func dial(t *testing.T, addr string) rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return rawClient{conn.(*net.TCPConn), t}
}

func (p rawClient) say(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		p.t.Fatal(err)
	}
}

// hear fails the test unless the next received bytes are equal to want.
func (p rawClient) hear(want string) {
	p.t.Helper()
	got := make([]byte, len(want))
	_ = p.SetReadDeadline(time.Now().Add(soon))
	if n, err := io.ReadFull(p, got); err != nil || string(got) != want {
		p.t.Fatalf("received %q, want %q: %v", got[:n], want, err)
	}
}

// awaitEnd waits for the end of the stream. It fails the test if further bytes arrive or the stream stays open.
func (p rawClient) awaitEnd() {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(soon))
	rest, err := io.ReadAll(p)
	if len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Fatalf("received %q, then %v", rest, err)
	}
}

// silence fails the test if bytes or the end of the stream arrive.
func (p rawClient) silence() {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(150 * time.Millisecond))
	if n, err := p.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Fatalf("received %d bytes, then %v", n, err)
	}
}

func always(f Fate) func(context.Context, Command) Fate {
	return func(context.Context, Command) Fate { return f }
}

func TestForwardsBytes(t *testing.T) {
	settles(t)
	l := listen(t, serve(t, answering))
	for _, delay := range []time.Duration{0, 5 * time.Millisecond} {
		l.Delay(delay)
		p := dial(t, l.Addr())
		p.say("a\r\nb\r")
		p.hear("+a\r\n")
		p.say("\n")
		p.hear("+b\r\n")
		_ = p.CloseWrite() // the server answers and then closes the connection
		p.awaitEnd()
	}
}

func TestListenNeedsPort(t *testing.T) {
	if l, err := Listen("127.0.0.1", RESP); err == nil {
		l.Close()
		t.Error("an address without a port was accepted")
	}
}

func TestCounters(t *testing.T) {
	settles(t)
	l := listen(t, serve(t, answering))
	p := dial(t, l.Addr())
	p.say("a\r\nb\r\nc\r\n")
	p.hear("+a\r\n+b\r\n+c\r\n")
	if got, want := l.Counters(), (Counters{Commands: 3, RoundTrips: 1, Sent: 9, Received: 12}); got != want {
		t.Errorf("a pipeline: %+v, not %+v", got, want)
	}
	p.say("d\r\n")
	p.hear("+d\r\n")
	if got, want := l.Counters(), (Counters{Commands: 4, RoundTrips: 2, Sent: 12, Received: 16}); got != want {
		t.Errorf("and one more: %+v, not %+v", got, want)
	}
	p.say("\r\n")
	p.hear("+\r\n")
	if got := l.Counters(); got.Commands != 4 || got.RoundTrips != 2 {
		t.Errorf("an empty line was counted: %+v", got)
	}
}

// TestGarbage checks that data that is not RESP is forwarded in both directions, even without line ends.
func TestGarbage(t *testing.T) {
	settles(t)
	l := listen(t, serve(t, func(conn *net.TCPConn) { _, _ = io.Copy(conn, conn) }))
	for _, garbage := range []string{"\x16\x03\x01\x00\xff", "*3\r\nno", "hello", "$5", "*1\r\n$3\r\nabcdef", "\xc3\x28"} {
		before := l.Counters().Commands
		p := dial(t, l.Addr())
		p.say(garbage)
		if !strings.HasPrefix(garbage, "$") { // "$" may begin a reply, so these bytes are not forwarded yet
			p.hear(garbage)
			p.say(garbage)
			p.hear(garbage)
			continue
		}
		_ = p.CloseWrite()
		p.hear(garbage)
		p.awaitEnd()
		if after := l.Counters().Commands; after != before {
			t.Errorf("%q was counted as %d commands", garbage, after-before)
		}
	}
}

func TestFates(t *testing.T) {
	for _, c := range []struct {
		name   string
		point  Point
		fate   Fate
		sent   int64 // number of bytes that must reach the server
		heard  string
		silent bool
	}{
		{"request closed", Request, Close, 3, "+a\r\n", false},
		{"request silent", Request, Silent, 3, "", true},
		{"request dropped is closed", Request, Drop, 3, "+a\r\n", false},
		{"reply closed", Reply, Close, 9, "+a\r\n", false},
		{"reply silent", Reply, Silent, 9, "+a\r\n", true},
		{"reply dropped is closed", Reply, Drop, 9, "+a\r\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			settles(t)
			l := listen(t, serve(t, answering))
			met := make(chan Command, 1)
			l.On(Rule{Commands: []string{"b", "x"}, Nth: 1, Point: c.point, Do: func(_ context.Context, got Command) Fate {
				met <- got
				return c.fate
			}})
			p := dial(t, l.Addr())
			p.say("a\r\n")
			p.hear("+a\r\n")
			p.say("b\r\nc\r\n")
			if c.silent {
				p.silence()
				p.say("d\r\n") // this is never delivered
				p.silence()
				_ = p.CloseWrite()
			}
			p.awaitEnd()
			if got := <-met; got.Name != "B" || got.Args[0] != "b" || got.Nth != 2 || got.Conn != 1 {
				t.Errorf("called with %+v", got)
			}
			if sent := l.Counters().Sent; sent != c.sent {
				t.Errorf("the server got %d bytes, not %d", sent, c.sent)
			}
			again := dial(t, l.Addr()) // the rule applies only to the first match (Nth: 1), so this command passes
			again.say("b\r\n")
			again.hear("+b\r\n")
		})
	}
}

// TestHeldRequest checks that a delayed command arrives even after its client has closed the connection.
func TestHeldRequest(t *testing.T) {
	settles(t)
	got := make(chan string, 10)
	l := listen(t, serve(t, func(conn *net.TCPConn) {
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			got <- lines.Text()
		}
	}))
	met, held := make(chan bool), make(chan bool)
	cancel := l.On(Rule{Commands: []string{"held"}, Do: func(context.Context, Command) Fate {
		met <- true
		<-held
		return Pass
	}})
	defer cancel()
	p := dial(t, l.Addr())
	p.say("before\r\nheld\r\nafter\r\n")
	<-met
	if first := <-got; first != "before" {
		t.Errorf("%q was passed on first", first)
	}
	p.Close()
	dial(t, l.Addr()).say("another\r\n") // other connections must not be delayed
	for _, want := range []string{"another", "held", "after"} {
		if next := <-got; next != want {
			t.Errorf("%q was passed on where %q is next", next, want)
		}
		if want == "another" {
			close(held)
		}
	}
}

func TestRulesInOrder(t *testing.T) {
	settles(t)
	l := listen(t, serve(t, answering))
	var asked []string
	note := func(name string, f Fate) func(context.Context, Command) Fate {
		return func(context.Context, Command) Fate { asked = append(asked, name); return f }
	}
	cancel := l.On(Rule{Point: Reply, Do: note("removed", Close)})
	l.On(Rule{Point: Reply, Do: note("every", Pass)})
	l.On(Rule{Point: Reply, Nth: 2, Do: note("second", Close)})
	l.On(Rule{Point: Reply, Nth: 2, Do: note("too late", Pass)})
	cancel()
	p := dial(t, l.Addr())
	p.say("a\r\nb\r\n")
	p.hear("+a\r\n")
	p.awaitEnd()
	if err := l.Close(); err != nil { // Close waits until no rule is running
		t.Error(err)
	}
	if got := strings.Join(asked, ", "); got != "every, every, second" {
		t.Errorf("asked: %s", got)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  Direction
		sent int64
	}{{"to the server", ToServer, 0}, {"to the client", ToClient, 3}, {"both", Both, 0}} {
		t.Run(c.name, func(t *testing.T) {
			settles(t)
			l := listen(t, serve(t, answering))
			idle, busy := dial(t, l.Addr()), dial(t, l.Addr())
			idle.say("x\r\n")
			idle.hear("+x\r\n")
			l.Cut(c.cut)
			late := dial(t, l.Addr())
			busy.say("a\r\n")
			busy.silence()
			late.silence()
			waitUntil(t, "the other direction arrived", func() bool { return l.Counters().Sent-3 >= c.sent })
			if sent := l.Counters().Sent - 3; sent != c.sent {
				t.Errorf("%d bytes arrived, want %d", sent, c.sent)
			}
			l.Cut(Open)
			busy.awaitEnd()
			for _, p := range []rawClient{idle, late} {
				p.say("y\r\n")
				p.hear("+y\r\n")
			}
		})
	}
}

// TestCutHidesTheEnd checks that clients of a cut link do not notice that the server closes its connections.
func TestCutHidesTheEnd(t *testing.T) {
	settles(t)
	end := make(chan bool)
	addr := serve(t, func(conn *net.TCPConn) { <-end })
	l := listen(t, addr)
	p := dial(t, l.Addr())
	p.say("a\r\n")
	waitUntil(t, "the server has been reached", func() bool { return l.Counters().Sent == 3 })
	l.Cut(ToClient)
	l.mu.Lock()
	l.upstream = "127.0.0.1:1" // no server listens at this address
	l.mu.Unlock()
	close(end)
	p.silence()
	p.say("b\r\n")
	p.silence()
	late := dial(t, l.Addr())
	late.silence()
	l.Cut(Both)
	p.silence()
	l.Cut(ToServer)
	p.awaitEnd()
	late.awaitEnd()
}

// TestDelay checks that the delays of many chunks overlap and do not add up.
func TestDelay(t *testing.T) {
	settles(t)
	const delay, chunks = 100 * time.Millisecond, 100
	l := listen(t, serve(t, answering))
	p := dial(t, l.Addr())
	l.Delay(delay)
	began, last := time.Now(), time.Now()
	for range chunks {
		last = time.Now()
		p.say("a\r\n")
		time.Sleep(time.Millisecond) // two lines must not arrive as one chunk
	}
	p.hear(strings.Repeat("+a\r\n", chunks))
	if all, one := time.Since(began), time.Since(last); one < 2*delay || all > chunks*delay {
		t.Errorf("round trips in %v, the last in %v", all, one)
	}
}

func TestUpstream(t *testing.T) {
	settles(t)
	named := func(name string) string {
		return serve(t, func(conn *net.TCPConn) {
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				_, _ = io.WriteString(conn, "+"+name+"\r\n")
			}
		})
	}
	l := listen(t, named("first"))
	p := dial(t, l.Addr())
	p.say("who\r\n")
	p.hear("+first\r\n")
	l.Upstream(named("second"))
	p.awaitEnd()
	p = dial(t, l.Addr())
	p.say("who\r\n")
	p.hear("+second\r\n")
	l.Upstream("127.0.0.1:1")
	dial(t, l.Addr()).awaitEnd() // no server listens, so the stream ends
}

// TestSlowClient checks that a link can be closed while a client does not read and all buffers are full.
func TestSlowClient(t *testing.T) {
	settles(t)
	flood := bytes.Repeat([]byte("+x\r\n"), 1<<16)
	l := listen(t, serve(t, func(conn *net.TCPConn) {
		for {
			if _, err := conn.Write(flood); err != nil {
				return
			}
		}
	}))
	p := dial(t, l.Addr())
	last := int64(-1)
	waitUntil(t, "the server's writes block", func() bool {
		now := l.Counters().Received
		time.Sleep(50 * time.Millisecond)
		stands := now == last && now > maxQueued
		last = now
		return stands
	})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, p)
}

// TestCloseEndsRules checks that Close ends a running Rule.Do that is waiting for its context.
func TestCloseEndsRules(t *testing.T) {
	for _, point := range []Point{Request, Reply} {
		settles(t)
		l := listen(t, serve(t, answering))
		met := make(chan bool)
		l.On(Rule{Point: point, Do: func(ctx context.Context, _ Command) Fate {
			close(met)
			<-ctx.Done()
			return Pass
		}})
		p := dial(t, l.Addr())
		p.say("a\r\n")
		<-met
		for range 2 {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		p.awaitEnd()
		if conn, err := net.Dial("tcp", l.Addr()); err == nil {
			conn.Close()
			t.Error("the closed link still listens")
		}
	}
}

// TestServerGone checks a server that closes its connection while a rule delays a request. The link must close the
// client's connection and end the context of Rule.Do.
func TestServerGone(t *testing.T) {
	settles(t)
	met, ended := make(chan bool), make(chan bool)
	l := listen(t, serve(t, func(*net.TCPConn) { <-met }))
	l.On(Rule{Do: func(ctx context.Context, _ Command) Fate {
		close(met)
		<-ctx.Done()
		close(ended)
		return Pass
	}})
	p := dial(t, l.Addr())
	p.say("a\r\n")
	p.awaitEnd()
	select {
	case <-ended:
	case <-time.After(soon):
		t.Error("the context has not ended")
	}
}

// TestManyConnections checks replies and counters when two links have many connections at once.
func TestManyConnections(t *testing.T) {
	settles(t)
	const each, trips = 150, 20
	addr := serve(t, answering)
	links := []*Link{listen(t, addr), listen(t, addr)}
	links[1].On(Rule{Point: Reply, Do: always(Pass)})
	var all sync.WaitGroup
	for i := range 2 * each {
		p := dial(t, links[i%2].Addr())
		all.Go(func() {
			_ = p.SetDeadline(time.Now().Add(2 * soon))
			replies := bufio.NewReader(p)
			for range trips {
				_, _ = io.WriteString(p, "hello\r\n")
				if got, err := replies.ReadString('\n'); got != "+hello\r\n" {
					t.Errorf("received %q: %v", got, err)
					return
				}
			}
		})
	}
	all.Wait()
	for _, l := range links {
		if c := l.Counters(); c.Commands != each*trips || c.RoundTrips != each*trips || c.Sent != each*trips*7 {
			t.Errorf("%+v", c)
		}
	}
}
