package inject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/histories"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/proxy"
	"lockbench/workloads"
)

// long is a timeout that no passing test reaches.
const long = time.Minute

// injecting returns an injector for three clients in separate processes, and a function that returns the recorded operations.
func injecting(t *testing.T, plan faults.Plan) (*Injector, func() []histories.Op) {
	t.Helper()
	var file bytes.Buffer
	rec, err := histories.NewRecorder(&file, histories.Header{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	return New("test", plan, nowhere{}, rec), func() []histories.Op {
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		return allOps(t, &file)
	}
}

// nowhere is a World without network links. Its actions always fail.
type nowhere struct{}

func (nowhere) ClientsOf(process int) []int32 { return []int32{int32(process)} }
func (nowhere) Links(int, []int) []Link       { return nil }
func (nowhere) Do(_ context.Context, a faults.Action) (Effect, error) {
	return Effect{}, fmt.Errorf("unknown action %s", a.Verb)
}

func allOps(t *testing.T, file io.Reader) []histories.Op {
	t.Helper()
	r, err := histories.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var ops []histories.Op
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return ops
		} else if err != nil {
			t.Fatal(err)
		}
		if l.Op.Kind != 0 {
			ops = append(ops, l.Op)
		}
	}
}

func kinds(ops []histories.Op) (all []histories.Kind) {
	for _, op := range ops {
		all = append(all, op.Kind)
	}
	return all
}

func moment(client int32, point workloads.Point) workloads.Moment {
	return workloads.Moment{Client: client, Point: point}
}

// deserted is a World in which no client has the role that an action names.
type deserted struct{ nowhere }

func (deserted) Do(context.Context, faults.Action) (Effect, error) {
	return Effect{}, fmt.Errorf("%w: no client waits", ErrNoVictim)
}

// TestNoVictim checks an action that no client can be affected by. It was not carried out, but the state of the servers is known.
func TestNoVictim(t *testing.T) {
	in, recorded := injecting(t, faults.Plan{Steps: []faults.Step{{Do: faults.Action{Verb: faults.Unseat, Waiter: true, Nodes: []int{0}}}}})
	in.world = deserted{}
	in.Begin()
	if missed := in.Finish(); !strings.Contains(missed, "no client waits") || in.Failed() != "" {
		t.Errorf("missed: %q, failed: %q", missed, in.Failed())
	}
	if ops := recorded(); len(ops) == 0 || ops[len(ops)-1].Outcome != histories.Unknown {
		t.Errorf("recorded: %v", ops)
	}
}

// TestExitEndsClient checks that a client stops when its program ends.
func TestExitEndsClient(t *testing.T) {
	at := moment(1, workloads.Granted)
	in, recorded := injecting(t, faults.Plan{Steps: []faults.Step{{When: faults.Trigger{At: at}, Do: faults.Action{Verb: faults.Exit, Process: 1}}}})
	in.world = ending{}
	if !in.At(t.Context(), at).Leave {
		t.Error("the client goes on")
	}
	in.Finish()
	if ops := recorded(); len(ops) == 0 || !ops[0].EndsClient() || ops[0].Client != 1 {
		t.Errorf("recorded: %v", ops)
	}
}

// ending is a World in which every action succeeds.
type ending struct{ nowhere }

func (ending) Do(context.Context, faults.Action) (Effect, error) { return Effect{}, nil }

// TestGate checks that a gate delays the first acquire of its client and nothing else.
func TestGate(t *testing.T) {
	in, _ := injecting(t, faults.Plan{Gates: []faults.Gate{{Client: 1, Until: moment(0, workloads.Granted), Timeout: long}}})
	asked := make(chan bool)
	go func() {
		in.At(t.Context(), moment(1, workloads.Asking))
		close(asked)
	}()
	in.At(t.Context(), moment(2, workloads.Asking))  // returns at once, because only client 1 is delayed
	in.At(t.Context(), moment(1, workloads.Working)) // returns at once, because only acquires are delayed
	select {
	case <-asked:
		t.Error("the acquire was not delayed")
	case <-time.After(20 * time.Millisecond):
	}
	in.At(t.Context(), moment(0, workloads.Granted))
	select {
	case <-asked:
	case <-time.After(10 * time.Second):
		t.Error("the gate did not open")
	}
	in.At(t.Context(), workloads.Moment{Client: 1, Iteration: 1, Point: workloads.Asking})
}

// TestGateTimeout checks that a gate opens after its timeout, when the trial ends, and when the run is cancelled.
func TestGateTimeout(t *testing.T) {
	gate := func(timeout time.Duration) faults.Plan {
		return faults.Plan{Gates: []faults.Gate{{Client: 1, Until: moment(0, workloads.Granted), Timeout: timeout}}}
	}
	for name, c := range map[string]struct {
		timeout time.Duration
		end     func(*Injector, context.CancelFunc)
	}{
		"timeout": {time.Millisecond, func(*Injector, context.CancelFunc) {}},
		"the end": {long, func(in *Injector, _ context.CancelFunc) { in.Finish() }},
		"the run": {long, func(_ *Injector, cancel context.CancelFunc) { cancel() }},
	} {
		in, _ := injecting(t, gate(c.timeout))
		ctx, cancel := context.WithCancel(t.Context())
		asked := make(chan bool)
		go func() {
			in.At(ctx, moment(1, workloads.Asking))
			close(asked)
		}()
		c.end(in, cancel)
		select {
		case <-asked:
		case <-time.After(20 * time.Second):
			t.Errorf("%s does not open the gate", name)
		}
		cancel()
	}
}

// TestNotTriggered checks that a trial is discarded if the trigger of its fault did not occur.
func TestNotTriggered(t *testing.T) {
	stall := faults.Action{Verb: faults.Stall, By: time.Second}
	on := faults.Trigger{At: moment(0, workloads.Asking), On: &faults.Passing{Commands: []string{"SET"}, Nth: 1}}
	for name, step := range map[string]faults.Step{
		"a moment":        {When: faults.Trigger{At: moment(0, workloads.Releasing)}, Do: stall},
		"a command":       {When: on, Do: faults.Action{Verb: faults.Delay, By: time.Second}},
		"a while after":   {When: faults.Trigger{At: moment(0, workloads.Asking), Later: long}, Do: stall},
		"its second step": {When: faults.Trigger{At: moment(0, workloads.Releasing)}, Do: stall},
	} {
		plan := faults.Plan{Steps: []faults.Step{step}}
		if name == "its second step" {
			plan.Steps = []faults.Step{{When: faults.Trigger{At: moment(0, workloads.Asking)}, Do: stall}, step}
		}
		in, ops := injecting(t, plan)
		in.At(t.Context(), moment(0, workloads.Asking))
		if why := in.Finish(); !strings.HasPrefix(why, "test was not injected: ") {
			t.Errorf("%s: reason %q", name, why)
		}
		if name != "its second step" && len(ops()) > 0 {
			t.Errorf("%s: a step that was not carried out was recorded", name)
		}
	}
}

// TestFailedStep checks a trial whose fault cannot be verified. The fault must be recorded with an unknown outcome, and
// the trial must be discarded.
func TestFailedStep(t *testing.T) {
	in, ops := injecting(t, faults.Plan{Steps: []faults.Step{
		{When: faults.Trigger{At: moment(0, workloads.Granted)}, Do: faults.Action{Verb: "sing", Nodes: []int{0}}, For: time.Millisecond}}})
	in.At(t.Context(), moment(0, workloads.Granted))
	if why := in.Finish(); !strings.HasPrefix(why, "test could not be verified: unknown action sing") {
		t.Errorf("reason %q", why)
	}
	recorded := ops()
	if len(recorded) != 1 || recorded[0].Kind != histories.Inject || recorded[0].Outcome != histories.Unknown || recorded[0].Client != histories.Harness {
		t.Errorf("recorded: %+v", recorded)
	}
}

// TestHealed checks that each fault is healed at most once: after its duration, or when the trial ends.
func TestHealed(t *testing.T) {
	at := faults.Trigger{At: moment(0, workloads.Granted)}
	stall := faults.Action{Verb: faults.Stall, By: time.Second}
	for name, c := range map[string]struct {
		step   faults.Step
		before bool // whether the fault must be healed before the trial ends
	}{
		"after its time": {faults.Step{When: at, Do: stall, For: time.Millisecond}, true},
		"at the end":     {faults.Step{When: at, Do: stall, For: long}, false},
		"after its work": {faults.Step{When: at, Do: faults.Action{Verb: faults.Stall, By: 2 * time.Millisecond}}, true},
		"never":          {faults.Step{When: at, Do: faults.Action{Verb: faults.Abandon}}, false},
	} {
		in, ops := injecting(t, faults.Plan{Steps: []faults.Step{c.step}})
		order := in.At(t.Context(), moment(0, workloads.Granted))
		if order.Stall != c.step.Do.By {
			t.Errorf("%s: order %+v", name, order)
		}
		if c.before {
			in.work.Wait() // a background goroutine heals the fault after its duration
		}
		if why := in.Finish(); why != "" {
			t.Errorf("%s: discarded: %s", name, why)
		}
		want := []histories.Kind{histories.Inject, histories.Heal}
		if name == "never" {
			want = want[:1]
		}
		if got := kinds(ops()); !slices.Equal(got, want) {
			t.Errorf("%s: recorded %v", name, got)
		}
	}
}

// passing is a fake network link. Tests set the number of commands that it reports as passed.
type passing struct {
	commands int64
	rules    proxy.Rules
	cut      []proxy.Direction
	delays   []time.Duration
	conns    int  // number of open connections
	busy     bool // whether a command has no reply yet
}

func (l *passing) On(r proxy.Rule) func()   { return l.rules.On(r) }
func (l *passing) Delay(d time.Duration)    { l.delays = append(l.delays, d) }
func (l *passing) Cut(d proxy.Direction)    { l.cut = append(l.cut, d) }
func (l *passing) Idle() bool               { return !l.busy }
func (l *passing) Reset() (closed int)      { closed, l.conns = l.conns, 0; return closed }
func (l *passing) Counters() proxy.Counters { return proxy.Counters{Commands: l.commands} }

// TestDisturbed checks which network faults count as verified. It also checks that each network fault is healed once.
func TestDisturbed(t *testing.T) {
	message := func(l *passing) {
		for _, do := range l.rules.Matching(proxy.Message, proxy.Command{Name: "MESSAGE"}) {
			if fate := do(t.Context(), proxy.Command{}); fate != proxy.Drop {
				t.Errorf("fate of a message: %v", fate)
			}
		}
	}
	command := func(l *passing) { l.commands++ }
	for name, c := range map[string]struct {
		do      faults.Action
		befalls func(*passing)
		seen    bool
	}{
		"muted, as many as commands before": {faults.Action{Verb: faults.Mute}, message, true},
		"muted, and commands only":          {faults.Action{Verb: faults.Mute}, command, false},
		"cut":                               {faults.Action{Verb: faults.Cut}, command, true},
		"cut, nothing on its way":           {faults.Action{Verb: faults.Cut}, func(*passing) {}, false},
		"slowed":                            {faults.Action{Verb: faults.Slow, By: time.Second}, command, true},
	} {
		l := &passing{commands: 1}
		e := disturb(c.do, []Link{l})
		c.befalls(l)
		if err := errors.Join(e.Heal(), e.Heal()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := e.Seen(); (err == nil) != c.seen {
			t.Errorf("%s: %v", name, err)
		}
		if left := l.rules.Matching(proxy.Message, proxy.Command{Name: "MESSAGE"}); len(left) > 0 {
			t.Errorf("%s: a message is still dropped after the fault", name)
		}
		if len(l.cut) > 0 && !slices.Equal(l.cut, []proxy.Direction{proxy.Both, proxy.Open}) || len(l.delays) > 0 && !slices.Equal(l.delays, []time.Duration{time.Second, 0}) {
			t.Errorf("%s: cut %v, delayed %v", name, l.cut, l.delays)
		}
	}
}

// partly is a World whose actions succeed on one server and fail on another server.
type partly struct {
	nowhere
	healed *int
}

func (p partly) Do(context.Context, faults.Action) (Effect, error) {
	return Effect{Heal: func() error { *p.healed++; return nil }}, errors.New("the other server is dead")
}

// TestHealedAfterFailure checks an action that fails on one of several servers. On the servers on which it succeeded, it
// must be healed.
func TestHealedAfterFailure(t *testing.T) {
	rec, err := histories.NewRecorder(io.Discard, histories.Header{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	healed := 0
	in := New("test", faults.Plan{Steps: []faults.Step{{Do: faults.Action{Verb: faults.Freeze, Nodes: []int{0, 1}}, For: long}}}, partly{healed: &healed}, rec)
	in.Begin()
	if why := in.Finish(); healed != 1 || !strings.Contains(why, "the other server is dead") {
		t.Errorf("healed %d times; %s", healed, why)
	}
}

// TestReset checks that a reset closes the connections of all links. Without an open connection, the reset must fail.
func TestReset(t *testing.T) {
	l := &passing{conns: 2}
	if err := reset([]Link{&passing{}, l}); err != nil || l.conns != 0 {
		t.Errorf("two connections: %v, %d left", err, l.conns)
	}
	if err := reset([]Link{l}); err == nil {
		t.Error("without a connection, the reset counts as verified")
	}
}

// TestOrders checks the instructions (workloads.Order) that the injector gives to a client. An instruction can shorten
// the client's work or make the client stop without a release. If the client stops, the history must record that it went
// away.
func TestOrders(t *testing.T) {
	granted := faults.Trigger{At: moment(0, workloads.Granted)}
	for name, c := range map[string]struct {
		plan faults.Plan
		at   workloads.Moment
		want workloads.Order
	}{
		"quick":      {faults.Plan{Quick: 2}, workloads.Moment{Iteration: 1, Point: workloads.Granted}, workloads.Order{Stall: time.Millisecond}},
		"no more":    {faults.Plan{Quick: 2}, workloads.Moment{Iteration: 2, Point: workloads.Granted}, workloads.Order{}},
		"not others": {faults.Plan{Quick: 2}, workloads.Moment{Client: 1, Point: workloads.Granted}, workloads.Order{}},
		"abandon":    {faults.Plan{Steps: []faults.Step{{When: granted, Do: faults.Action{Verb: faults.Abandon}}}}, granted.At, workloads.Order{Leave: true}},
		"interrupt": {faults.Plan{Steps: []faults.Step{{When: faults.Trigger{At: moment(0, workloads.Releasing)},
			Do: faults.Action{Verb: faults.Interrupt, Wait: time.Second}}}}, moment(0, workloads.Releasing), workloads.Order{Wait: time.Second}},
		"killed later": {faults.Plan{Steps: []faults.Step{{When: faults.Trigger{At: granted.At, Later: long}, Do: faults.Action{Verb: faults.Kill}}}},
			granted.At, workloads.Order{}},
		"elsewhere": {faults.Plan{Steps: []faults.Step{{When: granted, Do: faults.Action{Verb: faults.Abandon}}}}, moment(0, workloads.Asking), workloads.Order{}},
	} {
		in, ops := injecting(t, c.plan)
		if got := in.At(t.Context(), c.at); got != c.want {
			t.Errorf("%s: order %+v, want %+v", name, got, c.want)
		}
		in.Finish()
		if all := ops(); c.want.Leave && (len(all) != 1 || !all[0].EndsClient()) {
			t.Errorf("%s: recorded %+v", name, all)
		}
	}
}

// linked is a World with one network link.
type linked struct {
	nowhere
	link Link
}

func (w linked) Links(int, []int) []Link { return []Link{w.link} }

// TestResetIsLossless checks that a reset is recorded as lossless only if every command has its reply, and that it is healed.
func TestResetIsLossless(t *testing.T) {
	for _, busy := range []bool{false, true} {
		in, ops := injecting(t, faults.Plan{Steps: []faults.Step{{Do: faults.Action{Verb: faults.Reset}}}})
		in.world = linked{link: &passing{conns: 1, busy: busy}}
		in.Begin()
		if why := in.Finish(); why != "" {
			t.Fatal(why)
		}
		recorded := ops()
		if got := kinds(recorded); !slices.Equal(got, []histories.Kind{histories.Inject, histories.Heal}) {
			t.Fatalf("recorded %v", got)
		}
		if lossless := recorded[0].Value == histories.Lossless; lossless == busy {
			t.Errorf("with a command under way %t: lossless %t", busy, lossless)
		}
	}
}
