package sim

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/internal/world/proxy"
)

// inPair calls f in virtual time with both ends of a simulated connection.
func inPair(t *testing.T, f func(t *testing.T, client, server *conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(1, 3, latency, 1)
		defer n.Close()
		client, server := n.connect(0, 0)
		f(t, client, server)
	})
}

func TestMessagesArriveInOrder(t *testing.T) {
	inPair(t, func(t *testing.T, client, server *conn) {
		const messages = 200
		go func() {
			b := make([]byte, 3)
			for i := range byte(messages) {
				b[0], b[1], b[2] = i, i, i
				if n, err := client.Write(b); n != len(b) || err != nil {
					t.Error(n, err)
				}
				time.Sleep(latency / 20) // a later message could arrive first if the network did not keep the order
			}
			client.Close()
			if _, err := client.Write(b); !errors.Is(err, net.ErrClosed) {
				t.Errorf("write after close: %v", err)
			}
		}()
		last, b := time.Now(), make([]byte, 2) // b is shorter than a message
		for i := range byte(messages) {
			for _, want := range [][]byte{{i, i}, {i}} {
				if n, err := server.Read(b); !bytes.Equal(b[:n], want) || err != nil {
					t.Fatalf("got %v, want %v (%v)", b[:n], want, err)
				}
			}
			if !time.Now().After(last) {
				t.Errorf("message %d arrived together with the one before", i)
			}
			last = time.Now()
		}
		if _, err := server.Read(b); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	})
}

// wire identifies a simulated connection by the seed, the process, the server and the number of earlier dials.
type wire struct {
	seed                uint64
	process, node, dial int
}

// delays returns the delays of messages on a new connection, in each direction. Another process first opens some
// connections (parameter others). They must not change the delays.
func delays(t *testing.T, l wire, others int) (there, back []time.Duration) {
	synctest.Test(t, func(*testing.T) {
		n := newNetwork(l.node+1, 101, latency, l.seed)
		defer n.Close()
		for range others {
			n.connect(100, l.node)
		}
		for range l.dial {
			n.connect(l.process, l.node)
		}
		client, server := n.connect(l.process, l.node)
		takes := func(from, to *conn) time.Duration {
			sent := time.Now()
			from.Write([]byte("x"))
			to.Read(make([]byte, 10))
			return time.Since(sent)
		}
		for range 10 {
			there, back = append(there, takes(client, server)), append(back, takes(server, client))
		}
	})
	return there, back
}

// alike reports whether corresponding delays in two lists differ by at most quantum (about 1 µs).
func alike(a, b []time.Duration) bool {
	return slices.EqualFunc(a, b, func(a, b time.Duration) bool { return (a - b).Abs() <= quantum })
}

func TestDelaysDependOnSeedAndLink(t *testing.T) {
	links := []wire{{1, 0, 0, 0}, {2, 0, 0, 0}, {1, 1, 0, 0}, {1, 0, 1, 0}, {1, 1, 1, 0}}
	for i, l := range links {
		there, back := delays(t, l, 0)
		if alike(there, back) {
			t.Errorf("%+v: both directions have the same delays", l)
		}
		if again, _ := delays(t, l, 7); !alike(there, again) {
			t.Errorf("%+v: the delays depend on other dials", l)
		}
		l.dial = 3
		if again, _ := delays(t, l, 0); !slices.Equal(there, again) {
			t.Errorf("%+v: the delays depend on the connection", l)
		}
		for _, other := range links[:i] {
			if same, _ := delays(t, other, 0); alike(there, same) {
				t.Errorf("%+v has the delays of %+v", l, other)
			}
		}
	}
}

// TestSameNanosecond writes several messages in the same nanosecond. Their arrival times must not depend on the order of
// the writes or on the connections used.
func TestSameNanosecond(t *testing.T) {
	arrivals := func(order []string, conns []int) map[string]time.Duration {
		at := map[string]time.Duration{}
		synctest.Test(t, func(*testing.T) {
			n := newNetwork(1, 3, latency, 1)
			defer n.Close()
			var clients, servers [3]*conn
			for i := range clients {
				clients[i], servers[i] = n.connect(0, 0)
			}
			start := time.Now()
			for i, said := range order {
				clients[conns[i]].Write([]byte(said))
			}
			time.Sleep(apart)
			for _, s := range servers {
				for _, m := range s.in.queue {
					at[string(m.bytes)] = m.at.Sub(start)
				}
			}
		})
		return at
	}
	all := []string{"a", "b", "c"}
	want := arrivals(all, []int{0, 1, 2})
	if len(want) != 3 || want["a"] == want["b"] || want["b"] == want["c"] {
		t.Errorf("they arrive at %v", want)
	}
	for _, order := range [][]string{all, {"c", "b", "a"}, {"b", "c", "a"}} {
		for _, conns := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 0, 2}} {
			if got := arrivals(order, conns); !maps.Equal(got, want) {
				t.Errorf("%v by %v: they arrive at %v, want %v", order, conns, got, want)
			}
		}
	}
}

// TestNextNanosecond writes a message in one nanosecond and another in the next, in which the outbox sends the first. Whether the
// outbox or the second writer runs first is not determined, and must not change the arrival times.
func TestNextNanosecond(t *testing.T) {
	arrivals := func() (at [2]time.Duration) {
		synctest.Test(t, func(*testing.T) {
			n := newNetwork(1, 1, latency, 1)
			defer n.Close()
			first, one := n.connect(0, 0)
			second, other := n.connect(0, 0)
			start := time.Now()
			first.Write([]byte("b")) // in one nanosecond, messages are sorted by content
			time.Sleep(time.Nanosecond)
			second.Write([]byte("a"))
			time.Sleep(apart)
			at = [2]time.Duration{one.in.queue[0].at.Sub(start), other.in.queue[0].at.Sub(start)}
		})
		return at
	}
	want := arrivals()
	for range 30 {
		if got := arrivals(); got != want {
			t.Fatalf("they arrive at %v, want %v", got, want)
		}
	}
}

func TestDirectionsOwnNanoseconds(t *testing.T) {
	inPair(t, func(t *testing.T, client, server *conn) {
		total, table := time.Duration(0), &client.out.pair.link.timetable
		const messages = 1000
		for i := range uint64(messages) {
			time.Sleep(10*latency + 7*time.Nanosecond) // wait until the previous message has arrived
			sent := time.Now()
			client.Write([]byte("x"))
			if _, err := server.Read(make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
			took := time.Since(sent)
			if took < latency/2 || took > latency*3/2+quantum {
				t.Errorf("the messages took %v", took)
			}
			want, back := table.residue(proxy.ToServer, i+1), table.residue(proxy.ToClient, i+1)
			if residue := time.Duration(time.Now().UnixNano()) % quantum; residue != want || residue == back || min(residue, back) < reserved {
				t.Errorf("it arrived at %v, want %v, or %v for the other direction", residue, want, back)
			}
			total += took
		}
		if mean := total / messages; mean < latency*9/10 || mean > latency*11/10 {
			t.Errorf("mean latency %v", mean)
		}
	})
}

func TestDeadlines(t *testing.T) {
	inPair(t, func(t *testing.T, client, server *conn) {
		b := make([]byte, 10)
		start := time.Now()
		server.SetDeadline(start.Add(time.Second))
		if _, err := server.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		if late := time.Since(start) - time.Second; late <= 0 || late > quantum {
			t.Errorf("the deadline came %v late, want a nanosecond without another event", late)
		}
		if _, err := server.Write(b); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		client.Write([]byte("x"))
		time.Sleep(time.Second)
		if _, err := server.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read after the deadline: %v", err)
		}
		server.SetDeadline(time.Time{})
		if n, err := server.Read(b); n != 1 || err != nil {
			t.Error(n, err)
		}
		// A waiting read fails as soon as its deadline is set to the current time.
		go func() { time.Sleep(time.Second); server.SetReadDeadline(time.Now()) }()
		if _, err := server.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestCloseEndsBothSides(t *testing.T) {
	inPair(t, func(t *testing.T, client, server *conn) {
		idle := func(want error) {
			t.Helper()
			raw, err := client.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			if err := raw.Read(nil); err != want {
				t.Errorf("a pool sees %v, want %v", err, want)
			}
		}
		idle(nil)
		server.Write([]byte("x"))
		server.Close()
		idle(nil) // the messages are still in flight
		time.Sleep(time.Second)
		idle(errUnread)
		if _, err := client.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		idle(io.EOF)
		client.Close()
		idle(net.ErrClosed)
	})
}

func TestCloseEndsRead(t *testing.T) {
	inPair(t, func(t *testing.T, client, server *conn) {
		go func() { time.Sleep(time.Second); server.Close() }()
		if _, err := server.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		closed := time.Now()
		if _, err := client.Read(make([]byte, 1)); err != io.EOF || time.Since(closed) < latency/2 {
			t.Errorf("%v after %v", err, time.Since(closed))
		}
	})
}
