package workloads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/histories"
	"lockbench/impls"
)

// fake is a lock whose methods call functions of the test.
type fake struct {
	acquire func(context.Context, impls.Request) (impls.Hold, error)
	release func(context.Context, impls.Grant) error
}

func (f fake) Acquire(ctx context.Context, r impls.Request) (impls.Hold, error) {
	return f.acquire(ctx, r)
}
func (f fake) Release(ctx context.Context, g impls.Grant) error { return f.release(ctx, g) }
func (f fake) Close() error                                     { return nil }

func grant(_ context.Context, r impls.Request) (impls.Hold, error) {
	return impls.Hold{Grant: impls.Grant{Key: r.Key, Owner: r.Owner, Validity: impls.Unbounded}}, nil
}

func released(context.Context, impls.Grant) error { return nil }

// mutex is a correct lock within one process. Each call takes time, so that events have different times.
func mutex() fake {
	free := make(chan struct{}, 1)
	return fake{func(ctx context.Context, r impls.Request) (impls.Hold, error) {
		time.Sleep(time.Millisecond)
		if r.Wait == 0 && len(free) > 0 {
			return impls.Hold{}, impls.ErrBusy
		}
		select {
		case free <- struct{}{}:
			h, err := grant(ctx, r)
			h.Validity = r.TTL
			return h, err
		case <-ctx.Done():
			return impls.Hold{}, ctx.Err()
		}
	}, func(context.Context, impls.Grant) error {
		time.Sleep(time.Millisecond)
		select {
		case <-free:
			return nil
		default:
			return impls.ErrNotHeld
		}
	}}
}

// drive runs a workload in virtual time on a fake lock. It returns the recorded operations and the elapsed time.
func drive(t *testing.T, name string, p Params, open func() fake) (ops []histories.Op, took time.Duration) {
	t.Helper()
	return driveLock(t, name, p, func() impls.Lock { return open() })
}

func driveLock(t *testing.T, name string, p Params, open func() impls.Lock) (ops []histories.Op, took time.Duration) {
	t.Helper()
	return driveDirected(t, name, p, open, nil)
}

func driveDirected(t *testing.T, name string, p Params, open func() impls.Lock, director Director) (ops []histories.Op, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		rec, err := histories.NewRecorder(&file, histories.Header{}, p.Logs())
		if err != nil {
			t.Fatal(err)
		}
		lock := open() // open the lock here, because its channels must be created within the synctest bubble
		here := Process{Lock: lock, Resource: NewRegister(Checking)}
		d := &Drive{Params: p, Processes: []Process{here}, Fresh: here, Director: director, Recorder: rec, Granted: new(atomic.Int64)}
		d.Workload = All()[slices.IndexFunc(All(), func(w Workload) bool { return w.Name == name })]
		d.Params = d.Workload.Adapted(p)
		start := time.Now()
		d.Run(t.Context())
		took = time.Since(start)
		d.Epilogue(t.Context(), time.Second)
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := histories.NewReader(&file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := histories.Replay(r.Next, func(ev histories.Event) error {
			if ev.Return {
				ops = append(ops, *ev.Op)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	return ops, took
}

func kinds(ops []histories.Op, client int32) (s []string) {
	for _, op := range ops {
		if op.Client == client {
			s = append(s, op.Kind.String())
		}
	}
	return s
}

// TestOperationsOfEachWorkload checks the recorded operations of several workloads: the set-up, the first iteration of
// a client, and the final checks.
func TestOperationsOfEachWorkload(t *testing.T) {
	for name, want := range map[string]string{
		"counter":   "acquire read write release",
		"inventory": "acquire read write append release",
		"contend":   "acquire release",
		"try":       "acquire release",
		"reentrant": "acquire read acquire release write release", // the fake does not implement Prober
	} {
		p := Defaults()
		p.Clients, p.Processes, p.Duration = 1, 1, 20*time.Millisecond
		ops, _ := drive(t, name, p, func() fake { return fake{grant, released} })
		n := len(strings.Fields(want))
		if got := strings.Join(kinds(ops, 0)[:n], " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if got := kinds(ops, 1); !slices.Equal(got, []string{"acquire", "release"}) {
			t.Errorf("%s: the epilogue does %v", name, got)
		}
		if got, guarded := kinds(ops, histories.Harness), strings.Contains(want, "read"); guarded != slices.Equal(got, []string{"write", "read"}) {
			t.Errorf("%s: the harness does %v", name, got)
		}
	}
}

// TestFlashSale checks that a correct lock sells exactly the stock, and that all buyers stop afterwards.
func TestFlashSale(t *testing.T) {
	p := Defaults()
	p.Stock, p.Duration = 25, time.Hour
	ops, took := drive(t, "inventory", p, mutex)
	orders, refused := 0, 0
	for _, op := range ops {
		if op.Kind == histories.Append && op.Outcome == histories.OK {
			orders++
		} else if op.Kind == histories.Append {
			refused++
		}
	}
	if last := ops[len(ops)-3]; orders != p.Stock || refused != p.Clients || last.Client != histories.Harness || last.Value != 0 {
		t.Errorf("%d orders, %d refused, %d left", orders, refused, last.Value)
	}
	if took > time.Minute {
		t.Errorf("they went on for %v", took)
	}
}

// split is a lock that splits each key into two segments and grants them in turn.
type split struct {
	fake
	next *atomic.Int64
}

func (s split) Segments(key string) []string { return []string{key + "#0", key + "#1"} }

func (s split) Acquire(ctx context.Context, r impls.Request) (impls.Hold, error) {
	r.Key = s.Segments(r.Key)[(s.next.Add(1)-1)%2]
	return grant(ctx, r)
}

// TestSegmentsAreSoldOut checks that a client buys from the other segment of the stock if the first segment is empty.
func TestSegmentsAreSoldOut(t *testing.T) {
	p := Defaults()
	p.Stock, p.Clients, p.Processes, p.Duration = 7, 1, 1, time.Hour
	ops, _ := driveLock(t, "inventory", p, func() impls.Lock { return split{fake{nil, released}, new(atomic.Int64)} })
	left, orders := map[string]int64{}, 0
	for _, op := range ops {
		switch {
		case op.Client == histories.Harness:
			left[op.Key] = op.Value
		case op.Kind == histories.Append && op.Outcome == histories.OK:
			orders++
		}
	}
	if orders != 7 || len(left) != 2 || left["k0#0"]+left["k0#1"] != 0 {
		t.Errorf("%d orders, left %v", orders, left)
	}
}

// TestMisuse checks that two clients attempt every invalid release of the workload "misuse". It also checks that the
// history records each result.
func TestMisuse(t *testing.T) {
	p := Defaults()
	p.Clients, p.Duration, p.Think = 2, time.Millisecond, 0
	ops, _ := drive(t, "misuse", p, mutex)
	var got []string
	for _, op := range ops {
		if op.Client < 2 {
			got = append(got, fmt.Sprintf("%d%s%s", op.Client, op.Kind, op.Outcome))
		}
	}
	want := strings.Fields("0acquireok 0releaseok 0releaserefused" +
		" 0acquireok 1acquirerefused 1releaseok 0releaserefused" + // the mutex does not check owners
		" 1acquireok 1releaseok 0acquireok 1releaseok 0releaserefused" +
		" 0acquireok 0lostok 0releaseok" +
		" 0acquireok 0lostok 1acquireunknown 0releaseok") // the first hold has no lease, so the acquire of the second client times out
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestLossStopsTheWork checks that a client does not write after the lock has reported the hold as lost.
func TestLossStopsTheWork(t *testing.T) {
	p := Defaults()
	p.Clients, p.Processes, p.Duration, p.Hold = 1, 1, 50*time.Millisecond, 20*time.Millisecond
	ops, _ := drive(t, "counter", p, func() fake {
		return fake{func(ctx context.Context, r impls.Request) (impls.Hold, error) {
			h, err := grant(ctx, r)
			lost := make(chan struct{})
			time.AfterFunc(5*time.Millisecond, func() { close(lost) })
			h.Lost = lost
			return h, err
		}, released}
	})
	if got := kinds(ops, 0)[:4]; !slices.Equal(got, []string{"acquire", "read", "lost", "release"}) {
		t.Errorf("it went on: %v", got)
	}
}

// TestLossOfFirstHold checks that a client with two holds notices the loss of the first one while it works with the second.
func TestLossOfFirstHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, _ := histories.NewMemory(histories.Header{}, 1)
		c := &Client{recorder: rec, log: rec.Log(0)}
		lost := make(chan struct{})
		c.first = &Held{Hold: impls.Hold{Lost: lost}, number: 1}
		time.AfterFunc(time.Second, func() { close(lost) })
		begin := time.Now()
		if held := c.Work(t.Context(), &Held{number: 2}, time.Minute); !held || time.Since(begin) != time.Second || !c.first.lost {
			t.Errorf("the second hold is held: %t; after %v the loss of the first is recorded: %t", held, time.Since(begin), c.first.lost)
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestRenewalsAreRecorded checks the times and the remaining validities of recorded renewals.
func TestRenewalsAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		rec, err := histories.NewRecorder(&file, histories.Header{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		w := NewWatch()
		log := rec.Log(0)
		call := log.Call(histories.Op{Kind: histories.Acquire, Hold: 1, Key: "k"})
		log.Return(histories.Result{Outcome: histories.OK})
		g := impls.Grant{Key: "k", Token: "t", Validity: time.Second}
		w.Renewed(g, time.Millisecond, nil) // a renewal before the client has received the grant
		w.holding(g, watched{log: log, hold: 1, call: call})
		time.Sleep(10 * time.Millisecond)
		w.Renewed(g, 7*time.Millisecond, nil)
		w.Renewed(g, 8*time.Millisecond, impls.ErrNotHeld)
		w.Renewed(g, 9*time.Millisecond, errors.New("reset"))
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := histories.NewReader(&file)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if _, err := histories.Replay(r.Next, func(ev histories.Event) error {
			if op := ev.Op; op.Kind == histories.Renew {
				got = append(got, fmt.Sprint(op.Hold, op.Outcome, op.Call-call, op.Validity))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"1 ok 1ms 1s", "1 ok 7ms 1s", "1 refused 8ms 0s", "1 unknown 9ms 0s"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// TestRenewalsOfEnteredHold checks that renewals of a nested hold belong to the outermost one, and after its release to a hold that its
// owner entered again, as on a promoted replica that lacks the release.
func TestRenewalsOfEnteredHold(t *testing.T) {
	w := NewWatch()
	outer, inner := impls.Grant{Key: "k", Token: "t", Depth: 1}, impls.Grant{Key: "k", Token: "t", Depth: 2}
	registered := func() int64 { return w.holds[hold{"k", "t"}].hold }
	w.holding(outer, watched{hold: 1})
	w.holding(inner, watched{hold: 2})
	w.released(inner, 2)
	if got := registered(); got != 1 {
		t.Errorf("during the outermost hold, renewals belong to hold %d", got)
	}
	w.released(outer, 1)
	w.holding(inner, watched{hold: 3})
	if got := registered(); got != 3 {
		t.Errorf("after its release, renewals belong to hold %d", got)
	}
}

// TestWatchForgetsReleasedHolds checks that only the latest released holds are stored, and every hold that was not released.
func TestWatchForgetsReleasedHolds(t *testing.T) {
	w := NewWatch()
	grant := func(i int) impls.Grant { return impls.Grant{Key: "k", Token: fmt.Sprint(i)} }
	w.holding(grant(-1), watched{hold: -1})
	const last = 3 * mostEnded
	for i := range last + 1 {
		w.holding(grant(i), watched{hold: int64(i)})
		w.released(grant(i), int64(i))
		w.released(grant(i), int64(i)) // a second release changes nothing
	}
	if len(w.holds) != mostEnded+1 {
		t.Errorf("%d holds are stored", len(w.holds))
	}
	for i, want := range map[int]bool{-1: true, last - mostEnded: false, last - mostEnded + 1: true, last: true} {
		if _, known := w.holds[hold{"k", fmt.Sprint(i)}]; known != want {
			t.Errorf("hold %d is known: %t", i, known)
		}
	}
}

// TestOutcomes checks that a definite refusal is recorded as refused, and any other error as unknown. After an unknown
// outcome, the client must use a new owner name.
func TestOutcomes(t *testing.T) {
	var owners []string
	n := 0
	p := Defaults()
	p.Clients, p.Processes, p.Duration, p.Think = 1, 1, 100*time.Millisecond, 10*time.Millisecond
	lock := fake{func(ctx context.Context, r impls.Request) (impls.Hold, error) {
		owners = append(owners, r.Owner)
		n++
		switch n {
		case 1:
			return impls.Hold{}, fmt.Errorf("the server says: %w", impls.ErrBusy)
		case 2:
			return impls.Hold{}, errors.New("connection reset")
		}
		return grant(ctx, r)
	}, released}
	ops, _ := drive(t, "contend", p, func() fake { return lock })
	want := []histories.Outcome{histories.Refused, histories.Unknown, histories.OK, histories.OK}
	for i, w := range want {
		if ops[i].Outcome != w {
			t.Errorf("operation %d: %s, want %s", i, ops[i].Outcome, w)
		}
	}
	if !slices.Equal(owners[:3], []string{"c0.0", "c0.0", "c0.1"}) {
		t.Errorf("owners %v", owners)
	}
}

// TestOperationsAreFinished checks that acquires that can still be granted are not cancelled at the end of a run.
func TestOperationsAreFinished(t *testing.T) {
	p := Defaults()
	p.Duration, p.Hold = 50*time.Millisecond, 20*time.Millisecond
	ops, took := drive(t, "contend", p, mutex)
	for _, op := range ops {
		if op.Outcome != histories.OK {
			t.Errorf("%s by client %d is %s", op.Kind, op.Client, op.Outcome)
		}
	}
	if took < p.Duration || took > p.Duration+10*p.Hold {
		t.Errorf("it took %v", took)
	}
}

// TestUnansweredAcquireIsCancelled checks that an unanswered acquire is cancelled one second after the TTL.
func TestUnansweredAcquireIsCancelled(t *testing.T) {
	lock := fake{func(ctx context.Context, _ impls.Request) (impls.Hold, error) {
		<-ctx.Done()
		return impls.Hold{}, ctx.Err()
	}, released}
	p := Defaults()
	ops, took := drive(t, "contend", p, func() fake { return lock })
	if want := p.Duration + p.TTL + usualGrace; took != want {
		t.Errorf("it took %v, want %v", took, want)
	}
	if len(ops) != p.Clients+1 || ops[0].Outcome != histories.Unknown {
		t.Errorf("%d operations, the first %s", len(ops), ops[0].Outcome)
	}
}

// TestTimeoutIsRecorded checks that an acquire is recorded with its timeout, and as cancelled if its caller cancelled it.
func TestTimeoutIsRecorded(t *testing.T) {
	lock := fake{func(ctx context.Context, r impls.Request) (impls.Hold, error) {
		if r.Wait >= 0 {
			return impls.Hold{}, impls.ErrBusy
		}
		<-ctx.Done()
		return impls.Hold{}, impls.ErrBusy
	}, released}
	for _, c := range []struct {
		workload string
		wait     time.Duration // value of Params.Wait
		recorded time.Duration
		problem  string
	}{{"contend", 0, histories.Unlimited, histories.Cancelled}, {"contend", time.Second, time.Second, "busy"}, {"try", 0, histories.Try, "busy"}} {
		p := Defaults()
		p.Duration, p.Wait = 5*time.Millisecond, c.wait
		ops, _ := drive(t, c.workload, p, func() fake { return lock })
		if op := ops[0]; op.Wait != c.recorded || op.Error != c.problem {
			t.Errorf("%s with a timeout of %v: recorded %v and %q", c.workload, c.wait, op.Wait, op.Error)
		}
	}
}

// TestFreshClientTriesAgain checks that the final check tries to acquire a key again after an unknown outcome. If grants never
// expire, it must not try again, because the first try may have acquired the key.
func TestFreshClientTriesAgain(t *testing.T) {
	for _, c := range []struct {
		validity time.Duration
		want     string
	}{{time.Second, "acquire unknown, acquire ok, release ok"}, {impls.Unbounded, "acquire unknown"}} {
		p := Defaults()
		p.Clients, p.Processes, p.Duration = 1, 1, 5*time.Millisecond
		lost := false
		ops, _ := drive(t, "contend", p, func() fake {
			return fake{func(_ context.Context, r impls.Request) (impls.Hold, error) {
				if strings.HasPrefix(r.Owner, "c1.") && !lost {
					lost = true
					return impls.Hold{}, errors.New("no answer")
				}
				return impls.Hold{Grant: impls.Grant{Key: r.Key, Owner: r.Owner, Token: "t", Validity: c.validity}}, nil
			}, released}
		})
		var got []string
		for _, op := range ops {
			if op.Client == 1 {
				got = append(got, fmt.Sprint(op.Kind, " ", op.Outcome))
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("grants for %v: the fresh client's operations are %v, want %s", c.validity, got, c.want)
		}
	}
}

// directed is a Director that changes a client's next step at one moment. At all other moments it returns the zero
// Order, which changes nothing.
type directed struct {
	at    Moment
	order Order
}

func (d directed) At(_ context.Context, m Moment) Order {
	if m == d.at {
		return d.order
	}
	return Order{}
}

// TestOrders checks which operations a client performs after each kind of instruction (Order) from a fault injector.
func TestOrders(t *testing.T) {
	p := Defaults()
	p.Clients, p.Processes, p.Duration, p.Hold, p.Think = 1, 1, 100*time.Millisecond, time.Millisecond, time.Millisecond
	for _, c := range []struct {
		name  string
		point Point
		order Order
		first string        // operations of the client's first iteration
		lasts time.Duration // duration from the first grant to its release
	}{
		{"as usual", Granted, Order{}, "acquire read write release", time.Millisecond},
		{"stall", Granted, Order{Stall: 50 * time.Millisecond}, "acquire read write release", 50 * time.Millisecond},
		{"a fault took part of the work", Granted, Order{Stall: 50 * time.Millisecond, Spent: 20 * time.Millisecond}, "acquire read write release", 30 * time.Millisecond},
		{"leave when granted", Granted, Order{Leave: true}, "acquire", 0},
		{"leave at work", Working, Order{Leave: true}, "acquire read", 0},
		{"leave before the release", Releasing, Order{Leave: true}, "acquire read write", 0},
		{"leave before the acquire", Asking, Order{Leave: true}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			ops, _ := driveDirected(t, "counter", p, func() impls.Lock { return mutex() }, directed{Moment{Point: c.point}, c.order})
			var mine []histories.Op
			for _, op := range ops {
				if op.Client == 0 && (len(mine) == 0 || mine[len(mine)-1].Kind != histories.Release) {
					mine = append(mine, op)
				}
			}
			if got := strings.Join(kinds(mine, 0), " "); got != c.first {
				t.Fatalf("it did %q, want %q", got, c.first)
			}
			if c.lasts > 0 {
				if held := mine[3].Call - mine[0].Return; held < c.lasts || held > c.lasts+time.Millisecond {
					t.Errorf("it holds for %v, want %v", held, c.lasts)
				}
			}
		})
	}
}

// strict is a Director that calls a function at each point.
type strict func(Moment) Order

func (f strict) At(_ context.Context, m Moment) Order { return f(m) }

// recordedAlone runs one client for 50 ms with the lock's method acquire, and returns its history.
func recordedAlone(t *testing.T, acquire func(context.Context, impls.Request) (impls.Hold, error), director Director) string {
	t.Helper()
	p := Defaults()
	p.Clients, p.Processes, p.Duration = 1, 1, 50*time.Millisecond
	var out bytes.Buffer
	rec, err := histories.NewRecorder(&out, histories.Header{}, p.Logs())
	if err != nil {
		t.Fatal(err)
	}
	d := &Drive{Workload: contend(), Params: p, Processes: []Process{{Lock: fake{acquire, released}}}, Recorder: rec, Granted: new(atomic.Int64), Director: director}
	d.Run(t.Context())
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPanicReachesTheCaller(t *testing.T) {
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "a bug in lockbench") || !strings.Contains(p, "client 0") {
			t.Errorf("recovered %q", p)
		}
	}()
	recordedAlone(t, nil, strict(func(Moment) Order { panic("a bug in lockbench") }))
	t.Error("it returned")
}

// TestPanicOfTheLock checks that a panic of the lock ends the client and is recorded as the answer.
func TestPanicOfTheLock(t *testing.T) {
	history := recordedAlone(t, func(context.Context, impls.Request) (impls.Hold, error) { panic("a bug in the lock") }, nil)
	if n := strings.Count(history, `"kind":"acquire"`); n != 1 || !strings.Contains(history, `"error":"panic: a bug in the lock"`) {
		t.Errorf("%d acquires:\n%s", n, history)
	}
}

// TestCancelledAcquire checks that a client cancels an acquire through its context, and that the history has the time of the
// cancellation.
func TestCancelledAcquire(t *testing.T) {
	history := recordedAlone(t, func(ctx context.Context, req impls.Request) (impls.Hold, error) {
		if req.Wait >= 0 {
			t.Errorf("the lock was told to wait for %v", req.Wait)
		}
		<-ctx.Done()
		return impls.Hold{}, impls.ErrBusy
	}, strict(func(m Moment) Order { return Order{Wait: 3 * time.Millisecond, Cancel: true, Rest: m.Iteration > 0} }))
	if !strings.Contains(history, `"wait":3000000`) || !strings.Contains(history, `"error":"cancelled"`) {
		t.Errorf("history:\n%s", history)
	}
}

// TestIterationsAreIndependent checks that an iteration's random numbers depend only on the seed, the client and the iteration
// number.
func TestIterationsAreIndependent(t *testing.T) {
	p := Defaults()
	p.Keys, p.Spread, p.Think = 100, Uniform, time.Millisecond
	keys := func(from uint64) (out []string) {
		c := &Client{Params: &p, number: 3, keys: p.KeyNames()}
		c.rand = rand.New(&c.source)
		for i := from; i < 20; i++ {
			c.begin(i)
			out = append(out, c.Key())
		}
		return out
	}
	if all, later := keys(0), keys(5); !slices.Equal(all[5:], later) {
		t.Errorf("skipping iterations changed the others: %v, %v", all[5:], later)
	}
}

func TestSpread(t *testing.T) {
	const draws = 20_000
	for spread, hottest := range map[Spread][2]float64{One: {1, 1}, Uniform: {0.05, 0.15}, Zipf: {0.25, 0.6}} {
		p := Params{Keys: 10, Spread: spread}
		r := rand.New(rand.NewPCG(1, 2))
		n := map[string]int{}
		for range draws {
			n[p.keyName(p.key(0, r))]++
		}
		if share := float64(n["k0"]) / draws; share < hottest[0] || share > hottest[1] {
			t.Errorf("%s: the first key has a share of %.2f, want %v", spread, share, hottest)
		}
		if len(n) != map[Spread]int{One: 1, Uniform: 10, Zipf: 10}[spread] {
			t.Errorf("%s: %d keys", spread, len(n))
		}
	}
}

func TestParams(t *testing.T) {
	if err := Defaults().Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Params){
		"0 clients":    func(p *Params) { p.Clients = 0 },
		"9 processes":  func(p *Params) { p.Processes = 9 },
		"duration 0s":  func(p *Params) { p.Duration = 0 },
		"ttl 1ms":      func(p *Params) { p.TTL = time.Millisecond },
		"hold -1ns":    func(p *Params) { p.Hold = -1 },
		"wait -1ns":    func(p *Params) { p.Wait = -1 },
		"0 keys":       func(p *Params) { p.Keys = 0 },
		"distribution": func(p *Params) { p.Keys = 2 },
	} {
		p := Defaults()
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestKeyNames(t *testing.T) {
	for naming, want := range map[Naming][]string{Numbered: {"k0", "k1"}, Prefixes: {"k", "k0"},
		Long: {"k" + strings.Repeat("0", longName-1), "k" + strings.Repeat("0", longName-2) + "1"}} {
		p := Params{Keys: 2, Names: naming}
		if got := p.KeyNames(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", naming, got, want)
		}
	}
}

// TestWrongKey checks that the grant of a key that was not requested counts as an acquire without a definite answer.
func TestWrongKey(t *testing.T) {
	p := Defaults()
	p.Clients, p.Processes, p.Duration = 1, 1, 5*time.Millisecond
	ops, _ := drive(t, "contend", p, func() fake {
		return fake{func(ctx context.Context, r impls.Request) (impls.Hold, error) {
			time.Sleep(time.Millisecond)
			r.Key += "?"
			return grant(ctx, r)
		}, released}
	})
	if len(ops) == 0 {
		t.Error("nothing was recorded")
	}
	for _, op := range ops {
		if op.Kind != histories.Acquire || op.Outcome != histories.Unknown || !strings.Contains(op.Error, `granted "k0?" instead of "k0"`) {
			t.Errorf("%+v", op)
		}
	}
}
