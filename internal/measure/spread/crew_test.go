package spread

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockbench/checker/judge"
	"lockbench/histories"
	redislocks "lockbench/impls/redis"
	"lockbench/internal/drive/trial"
	"lockbench/internal/fleet"
	"lockbench/internal/world/builtin"
	"lockbench/internal/world/proxy"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

// TestMain runs the tests. In a child process of a test, it serves a store instead.
func TestMain(m *testing.M) {
	redislocks.Quiet()
	builtin.ServeChild()
	os.Exit(m.Run())
}

// clock returns a clock that is behind by the given time and whose rate differs by the given part. Histories always have the true
// rate, so another one is an error that must be detected.
func clock(behind time.Duration, rate float64) func(time.Time) time.Duration {
	start := time.Now()
	return func(at time.Time) time.Duration {
		return at.Sub(start) + time.Duration(float64(at.Sub(start))*rate) - behind
	}
}

// crew starts a store, a coordinator and an agent for each clock.
func crew(t *testing.T, all ...func(time.Time) time.Duration) (*Crew, []*fleet.Agent) {
	t.Helper()
	return distant(t, 0, all...)
}

// distant is like crew. The agents are behind a delay in each direction.
func distant(t *testing.T, delay time.Duration, all ...func(time.Time) time.Duration) (*Crew, []*fleet.Agent) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("an agent needs a redis-server")
	}
	g, err := stores.Start(t.Context(), servers.Spec{How: servers.Local, Store: servers.Redis, Deployment: servers.Single})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Stop() })
	redis, _ := stores.Find(servers.Redis)
	targets, err := redis.Targets(g.Front()[0], "", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "nats://" + l.Addr().String()
	l.Close()
	f, err := fleet.Open(context.WithoutCancel(t.Context()), fleet.Options{Dir: t.TempDir(), Listen: fleet.Listen{URL: address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close(true) })
	far, err := proxy.Listen(l.Addr().String(), proxy.Opaque)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })
	far.Delay(delay)
	var agents []*fleet.Agent
	for _, of := range all {
		seat := &Seat{Remote: servers.Remote{Targets: targets}, Clock: of}
		a, err := fleet.Join(t.Context(), fleet.Address{URL: "nats://" + far.Addr()}, fleet.Offer{Slots: 1, Calls: seat.Calls(), Clock: of})
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, a)
		t.Cleanup(a.Close)
	}
	return &Crew{Fleet: f, Size: len(all), Servers: []string{targets[0].String()}, Note: func(text string) { t.Log(text) }}, agents
}

// short returns a short trial of a lock.
func short(lock string, n int) Share {
	p := workloads.Defaults()
	p.Clients, p.Processes, p.Hold, p.Think, p.Duration, p.TTL, p.Seed = 4, 2, 5*time.Millisecond, 0, 100*time.Millisecond, 5*time.Second, uint64(n)
	return Share{ID: fmt.Sprint(lock, n), Run: "test", Prefix: trial.UniquePrefix("test"), Lock: lock, Workload: "contend", Params: p}
}

// TestClocksApart runs short trials on two agents whose clocks are 3 s apart. A correct lock must not be accused, and a lock that does
// not exclude must be detected in every trial. LOCKBENCH_CLOCKS is the number of trials of each lock.
func TestClocksApart(t *testing.T) {
	t.Parallel()
	trials, _ := strconv.Atoi(os.Getenv("LOCKBENCH_CLOCKS"))
	t.Run("near", func(t *testing.T) {
		t.Parallel()
		c, _ := crew(t, clock(0, 0), clock(3*time.Second, 0))
		accuse(t, c, max(2, trials), 5*time.Millisecond)
	})
	t.Run("20 ms away", func(t *testing.T) {
		t.Parallel()
		c, _ := distant(t, 20*time.Millisecond, clock(0, 0), clock(3*time.Second, 0))
		accuse(t, c, max(2, trials), 150*time.Millisecond)
	})
}

// accuse runs trials of a correct and of a known-broken lock, and checks that only the second one is violated.
func accuse(t *testing.T, c *Crew, trials int, hold time.Duration) {
	t.Helper()
	discarded, grants, hidden, most := 0, 0, 0, time.Duration(0)
	for n := range trials {
		for _, lock := range []string{"set-px-lua", "none"} {
			s := short(lock, n)
			s.Params.Hold, s.Params.Duration = hold, max(s.Params.Duration, 3*hold)
			got, err := c.Run(t.Context(), s)
			if errors.Is(err, ErrDiscarded) {
				discarded++
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			v, err := judge.History(got.Header, histories.Ops(got.Judged), judge.Options{})
			if err != nil {
				t.Fatal(err)
			}
			names := violated(v)
			switch found := slices.Contains(names, "mutual-exclusion"); {
			case lock != "none":
				if grants, hidden = grants+got.Grants, hidden+got.Hidden; names != nil {
					t.Errorf("trial %d: %v with an uncertainty of %s", n, names, got.Uncertainty)
				}
			case !found && got.Uncertainty < hold/3:
				t.Errorf("trial %d: no violation of %d grants with an uncertainty of %s", n, got.Grants, got.Uncertainty)
			}
			most = max(most, got.Uncertainty)
		}
	}
	t.Logf("%d trials of each lock, %d discarded; %d of %d holds of the correct lock hidden; uncertainty at most %s", trials, discarded, hidden, grants, most)
	if discarded > trials/2+2 {
		t.Errorf("%d trials were discarded", discarded)
	}
}

// TestSchedule checks that two agents together keep to the schedule of an open loop, and that latencies count from it.
func TestSchedule(t *testing.T) {
	t.Parallel()
	c, _ := crew(t, clock(0, 0), clock(time.Hour, 0))
	s := short("set-px-lua", 1)
	s.Params.Arrivals, s.Params.Rate, s.Params.Hold, s.Params.Keys, s.Params.Spread = workloads.Constant, 100, 0, 4, workloads.Own
	got, err := c.Run(t.Context(), s)
	if errors.Is(err, ErrDiscarded) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	var due []time.Duration
	for _, op := range got.Measured {
		if op.Kind == histories.Acquire {
			due = append(due, op.Due)
		}
	}
	slices.Sort(due)
	want := int(100 * (WarmUp + s.Params.Duration).Seconds())
	if len(due) < want*3/4 || len(due) > want+2 {
		t.Errorf("%d iterations began, want %d", len(due), want)
	}
	for i := 1; i < len(due); i++ { // the two agents begin their schedules at slightly different times
		if gap := due[i] - due[i-1]; gap > 10*time.Millisecond+got.Uncertainty+2*lateStart {
			t.Errorf("a gap of %s in a schedule of 10 ms", gap)
		}
	}
}

// TestDiscarded checks that a trial is discarded if the clock of an agent drifts, or if an agent ends.
func TestDiscarded(t *testing.T) {
	t.Parallel()
	t.Run("drift", func(t *testing.T) {
		t.Parallel()
		c, _ := crew(t, clock(0, 0), clock(0, 0.02))
		if _, err := c.Run(t.Context(), short("set-px-lua", 1)); !errors.Is(err, ErrDiscarded) {
			t.Errorf("a clock that drifts by 2 %%: %v", err)
		}
	})
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		c, agents := crew(t, clock(0, 0), clock(0, 0))
		s := short("set-px-lua", 1)
		s.Params.Duration = 20 * time.Second
		time.AfterFunc(time.Second, agents[1].Close)
		began := time.Now()
		if _, err := c.Run(t.Context(), s); !errors.Is(err, ErrDiscarded) || time.Since(began) > 15*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// TestConsent checks that an agent refuses load on servers that its user did not name.
func TestConsent(t *testing.T) {
	t.Parallel()
	c, _ := crew(t, clock(0, 0))
	c.Servers = []string{"redis://127.0.0.1:1"}
	if _, err := c.Run(t.Context(), short("set-px-lua", 1)); !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("another server: %v", err)
	}
	seat := &Seat{Clock: clock(0, 0)}
	s := short("set-px-lua", 1)
	s.Servers, s.Part = []string{"redis://127.0.0.1:1"}, workloads.Part{Of: 1}
	if _, err := seat.run(t.Context(), s); !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("an agent without servers: %v", err)
	}
}

// TestLate checks that an agent reports how late it began, and that a late one makes the trial discarded.
func TestLate(t *testing.T) {
	t.Parallel()
	c, _ := crew(t, clock(0, 0)) // for its store
	redis, _ := stores.Find(servers.Redis)
	targets, err := redis.Targets(c.Servers[0], "", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	seat := &Seat{Remote: servers.Remote{Targets: targets}, Clock: clock(0, 0)}
	s := short("set-px-lua", 1)
	s.Part = workloads.Part{Index: 1, Of: 2}
	go func() { // these calls may arrive before the one that runs
		_, _ = seat.await(t.Context(), s.ID)
		_, _ = seat.start(t.Context(), start{ID: s.ID, At: seat.Clock(time.Now()) - time.Second})
	}()
	d, err := seat.run(t.Context(), s)
	if err != nil || d.Late < time.Second {
		t.Fatalf("late by %s: %v", d.Late, err)
	}
	x := &running{names: []string{"a", "b"}, done: []done{{Late: time.Millisecond}, d}}
	if _, err := x.late(); !errors.Is(err, ErrDiscarded) {
		t.Errorf("late by %s: %v", d.Late, err)
	}
	if _, err := seat.run(t.Context(), s); err == nil {
		t.Error("a share was run twice")
	}
	text, err := seat.send(t.Context(), piece{ID: s.ID})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(text.Bytes, s.Part); err != nil {
		t.Error(err)
	}
	if _, err := read(text.Bytes, workloads.Part{Index: 0, Of: 2}); err == nil {
		t.Error("an agent may have operations of another one's clients")
	}
}

// TestPieces checks that a history that is larger than a message arrives whole.
func TestPieces(t *testing.T) {
	t.Parallel()
	seat := &Seat{}
	x := seat.of("long")
	for x.history.Len() < 2*pieceSize+1 {
		x.history.WriteString("a history ")
	}
	if _, err := seat.send(t.Context(), piece{ID: "long"}); err == nil {
		t.Error("a history was sent before its end")
	}
	close(x.ended)
	var all []byte
	for len(all) < x.history.Len() {
		p, err := seat.send(t.Context(), piece{ID: "long", From: len(all)})
		if err != nil || len(p.Bytes) == 0 || len(p.Bytes) > pieceSize {
			t.Fatalf("%d bytes: %v", len(p.Bytes), err)
		}
		all = append(all, p.Bytes...)
	}
	if string(all) != x.history.String() {
		t.Error("the history changed on its way")
	}
	if _, err := seat.send(t.Context(), piece{ID: "long", From: -1}); err == nil {
		t.Error("a piece before the history was sent")
	}
}
