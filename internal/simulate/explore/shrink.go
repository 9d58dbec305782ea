package explore

import (
	"cmp"
	"reflect"
	"slices"
	"sync"
	"time"

	"lockbench/histories"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// Limits for minimising one case. Because the number of trials is limited, the result does not depend on the speed of
// the machine. Only a slow machine reaches the time limit.
const (
	mostTrials = 1200
	mostTime   = 25 * time.Second
)

func (r *Run) size() Size { return Size{len(r.Plan.Steps), r.Operations()} }

// Operations returns the number of operations that clients called. It does not count operations after the end of the
// workload.
func (r *Run) Operations() int {
	n := 0
	for _, op := range r.Ops {
		if op.Client != histories.Harness && int(op.Client) < r.Params.Clients && op.Kind != histories.Inject && op.Kind != histories.Heal {
			n++
		}
	}
	return n
}

// shrink minimises a case that violates the property. It first reduces the number of faults, iterations and clients, and
// then simplifies durations. Unless a limit is reached, the result is minimal: without any one fault, iteration or
// client, the violation is lost. If the property was expected to hold, it still is.
func (r *Run) shrink(x runner, property string, tries int, until time.Time) *shrinker {
	s := &shrinker{Run: r, runner: x, property: property, tries: tries, until: until}
	for {
		before := s.size()
		s.dropSteps()
		s.shortenTurns()
		s.dropClients()
		s.simplify()
		s.plainTimes()
		if s.size() == before || s.spent() || !x.repeats() { // on real servers, the number of operations differs between trials
			break
		}
	}
	s.inTurn()
	s.dropSteps() // after inTurn, some fault steps may be unnecessary
	return s
}

// shrinker holds the smallest case found so far that violates the property.
type shrinker struct {
	*Run
	runner   runner
	property string
	tries    int // maximum number of runs of a smaller case until it shows the violation
	trials   int
	cutOff   bool // whether time ran out; a smaller case may then exist
	until    time.Time
}

func (s *shrinker) spent() bool {
	s.cutOff = s.cutOff || !time.Now().Before(s.until)
	return s.cutOff || s.trials >= mostTrials
}

// tryChange changes a copy of the case and runs it. If the copy still violates the property and is not larger, it
// replaces the case. tryChange reports whether the case was replaced.
func (s *shrinker) tryChange(change func(*Case)) bool {
	return s.tryIf(change, func(r *Run) bool { return r.size().compare(s.size()) <= 0 || !s.runner.repeats() })
}

func (s *shrinker) tryIf(change func(*Case), accept func(*Run) bool) bool {
	if s.spent() {
		return false
	}
	c := s.Case.clone()
	change(&c)
	if reflect.DeepEqual(c, s.Case) || !c.possible() {
		return false
	}
	s.trials++
	r, _, err := repeat(s.runner, c, s.property, s.tries)
	if err != nil || r == nil || !s.mayReplace(r) || !accept(r) {
		return false
	}
	s.Run = r
	return true
}

// mayReplace reports whether the run r may replace the original run. If the original run is a failure, r must be a
// failure too.
func (s *shrinker) mayReplace(r *Run) bool { return r.expects(s.property) || !s.expects(s.property) }

// expects reports whether the property is expected to hold.
func (r *Run) expects(property string) bool {
	return r.Header.Expectation(property).Expected == histories.ToHold
}

// possible reports whether all clients and processes in the fault plan exist.
func (c Case) possible() bool {
	return !slices.ContainsFunc(c.Plan.Steps, func(step faults.Step) bool { return c.checkStep(step) != nil })
}

// clone returns a copy of the case. The plan of the copy can be modified without changing the original.
func (c Case) clone() Case {
	c.Plan.Gates, c.Plan.Turns = slices.Clone(c.Plan.Gates), slices.Clone(c.Plan.Turns)
	c.Plan.Steps, c.Params.Habits = slices.Clone(c.Plan.Steps), slices.Clone(c.Params.Habits)
	for i := range c.Plan.Steps {
		step := &c.Plan.Steps[i]
		step.Do.Nodes = slices.Clone(step.Do.Nodes)
		if step.When.On != nil {
			on := *step.When.On
			step.When.On = &on
		}
	}
	return c
}

// reduce removes elements from a list in the case, as long as the case still violates the property. It first tries to
// remove half of the elements at once, then fewer. The parameter least is the number of elements that must remain.
func reduce[T any](s *shrinker, least int, list func(*Case) *[]T) {
	left := func() int { return len(*list(&s.Case)) }
	for n := (left() + 1) / 2; n > 0; n /= 2 {
		for i := 0; i < left(); {
			to := min(i+n, left())
			if left()-(to-i) < least || !s.tryChange(func(c *Case) { l := list(c); *l = slices.Delete(*l, i, to) }) {
				i += n
			}
		}
	}
}

func (s *shrinker) dropSteps() {
	reduce(s, 0, func(c *Case) *[]faults.Step { return &c.Plan.Steps })
}

// tryValues reports whether one of the values simplifies the case. It applies change with each value to a copy
// of the case and runs the copy. The first copy that still violates the property and is not larger replaces the case.
func tryValues[T any](s *shrinker, values []T, change func(*Case, T)) bool {
	if !s.runner.repeats() {
		return tryValuesAtOnce(s, values, change)
	}
	return slices.ContainsFunc(values, func(v T) bool { return s.tryChange(func(c *Case) { change(c, v) }) })
}

// tryValuesAtOnce is like tryValues, but runs all copies at the same time. Real trials spend most of their time
// waiting.
func tryValuesAtOnce[T any](s *shrinker, values []T, change func(*Case, T)) bool {
	if s.spent() {
		return false
	}
	runs := make([]*Run, len(values))
	var all sync.WaitGroup
	for i, v := range values {
		c := s.Case.clone()
		if change(&c, v); reflect.DeepEqual(c, s.Case) || !c.possible() {
			continue
		}
		s.trials++
		all.Go(func() { runs[i], _, _ = repeat(s.runner, c, s.property, s.tries) })
	}
	all.Wait()
	i := slices.IndexFunc(runs, func(r *Run) bool { return r != nil && s.mayReplace(r) })
	if i >= 0 {
		s.Run = runs[i]
	}
	return i >= 0
}

// shortenTurns reduces the number of iterations that each client runs.
func (s *shrinker) shortenTurns() {
	for c := int32(s.Params.Clients) - 1; c >= 0; c-- {
		have := s.turns(c)
		if !s.runner.repeats() {
			have = min(have, 4) // a trial on real servers takes seconds
		}
		var fewer []uint64
		for n := uint64(0); n < have; n = max(n+1, n*5/4) { // use larger steps for a larger n, so that fewer trials are needed
			fewer = append(fewer, n)
		}
		tryValues(s, fewer, func(x *Case, n uint64) { x.Plan.Rest(c, n) })
	}
}

func (s *shrinker) turns(client int32) uint64 {
	for _, t := range s.Plan.Turns {
		if t.Client == client {
			return t.Iterations
		}
	}
	n := uint64(0)
	for _, op := range s.Ops {
		if op.Client == client && op.Kind == histories.Acquire {
			n++
		}
	}
	return n
}

// dropClients removes clients that run no iterations, beginning with the last client.
func (s *shrinker) dropClients() {
	for s.Params.Clients > 1 && s.turns(int32(s.Params.Clients)-1) == 0 {
		last := int32(s.Params.Clients) - 1
		if !s.tryChange(func(c *Case) {
			c.Params.Clients--
			c.Params.Processes = min(c.Params.Processes, c.Params.Clients)
			c.Plan.Turns = slices.DeleteFunc(c.Plan.Turns, func(t faults.Turns) bool { return t.Client == last })
		}) {
			return
		}
	}
}

// simplify makes a case easier to understand without making the case larger.
func (s *shrinker) simplify() {
	if s.property != "resource-integrity" && s.property != "reentrancy" && s.Workload != "contend" {
		s.tryChange(func(c *Case) { c.Workload = "contend"; c.Params.Habits = nil })
	}
	s.plainUsage()
	s.tryChange(func(c *Case) { c.Params.Processes = c.Params.Clients })
	s.tryChange(func(c *Case) { c.Params.Wait = 0 })
	s.tryChange(func(c *Case) { c.Deployment = cmp.Or(plainer[c.Deployment], c.Deployment) })
	for i := range s.Plan.Steps {
		s.plainTrigger(i)
		reduce(s, 1, func(c *Case) *[]int { return &c.Plan.Steps[i].Do.Nodes })
		s.tryChange(func(c *Case) {
			if step := &c.Plan.Steps[i]; step.Do.OneWay {
				step.Do.OneWay, step.Name = false, "partition"
			}
		})
		s.tryChange(func(c *Case) { c.Plan.Steps[i].Do.Silent = false })
		s.tryChange(func(c *Case) { c.Plan.Steps[i].Do.Keeps = false })
	}
}

// plainUsage makes the clients use the lock in a simpler way: with fewer habits and keys.
func (s *shrinker) plainUsage() {
	if s.Workload == "varied" {
		for _, simple := range []string{"counter", "reentrant"} { // the workload reentrant is refused if the lock is not re-entrant
			s.tryChange(func(c *Case) { c.Workload = simple; c.Params.Habits = nil })
		}
		reduce(s, 1, func(c *Case) *[]workloads.Habit { return &c.Params.Habits })
	}
	tryValues(s, []int{1, 2, s.Params.Keys / 2}, func(c *Case, keys int) {
		if c.Params.Keys = min(c.Params.Keys, max(keys, 1)); c.Params.Keys == 1 {
			c.Params.Spread = workloads.One
		}
	})
	s.tryChange(func(c *Case) { c.Params.Names = workloads.Numbered })
}

// plainer maps a deployment to a simpler deployment for the same lock.
var plainer = map[string]string{"replica": "single", "five-delayed": "five"}

// plainTrigger simplifies the trigger of a fault step. It replaces a time or a command with a point in a client's
// iteration, such as the grant. If this fails, it tries an earlier iteration.
func (s *shrinker) plainTrigger(i int) {
	when := s.Plan.Steps[i].When
	var moments []workloads.Moment
	if when.Later > 0 || when.On != nil && !faults.OnItsWay(s.Plan.Steps[i].Do.Verb) {
		for client := range int32(s.Params.Clients) {
			for _, point := range []workloads.Point{workloads.Granted, workloads.Working, workloads.Releasing, workloads.Asking} {
				moments = append(moments, workloads.Moment{Client: client, Point: point})
			}
		}
	}
	if tryValues(s, moments, func(c *Case, at workloads.Moment) { c.Plan.Steps[i].When = faults.Trigger{At: at} }) {
		return
	}
	for iteration := range when.At.Iteration {
		if s.tryChange(func(c *Case) { c.Plan.Steps[i].When.At.Iteration = iteration }) {
			return
		}
	}
}

// plainTimes simplifies the durations in the case. Durations of fault steps become simple fractions of the lease,
// and hold and think times become common values.
func (s *shrinker) plainTimes() {
	lease := s.Params.TTL
	round := []time.Duration{lease / 4, lease / 2, lease * 5 / 4, lease * 3 / 2, lease * 2}
	for i := range s.Plan.Steps {
		for n := range timesOf(&s.Plan.Steps[i]) {
			step := &s.Plan.Steps[i]
			have := timesOf(step)[n]
			if *have == 0 || faults.IsDrift(step.Do.Verb) && have == &step.Do.By {
				continue
			}
			sign := cmp.Compare(*have, 0)
			tryValues(s, round, func(c *Case, d time.Duration) { setTime(&c.Plan.Steps[i], n, time.Duration(sign)*d) })
		}
	}
	// Try the longest duration first. With longer holds, the counterexample has fewer operations.
	for _, d := range []time.Duration{lease * 7 / 10, lease / 2, lease / 4, lease / 8} {
		if d <= s.Params.Hold || s.tryChange(func(c *Case) { c.Params.Hold = d }) {
			break
		}
	}
	s.tryChange(func(c *Case) { c.Params.Think = time.Millisecond })
}

func timesOf(s *faults.Step) []*time.Duration {
	return []*time.Duration{&s.For, &s.When.Later, &s.Do.By, &s.Do.Wait}
}

// setTime sets the nth duration of a step (see timesOf). If For and Do.By are equal, they stay equal.
func setTime(step *faults.Step, n int, d time.Duration) {
	same := (step.For - step.Do.By).Abs() < time.Microsecond
	one := timesOf(step)[n]
	*one = d
	if same && (one == &step.For || one == &step.Do.By) {
		step.For, step.Do.By = d, d
	}
}

// inTurn makes the clients start one after another. Each client delays its first acquire until the previous client has
// been granted the lock. The events are then easier to follow and do not depend on the machine's timing.
func (s *shrinker) inTurn() {
	var order []int32
	grants := slices.Clone(s.Ops)
	slices.SortStableFunc(grants, func(a, b histories.Op) int { return cmp.Compare(a.Return, b.Return) })
	for _, op := range grants {
		if op.Kind == histories.Acquire && op.Outcome == histories.OK && int(op.Client) < s.Params.Clients && !slices.Contains(order, op.Client) {
			order = append(order, op.Client)
		}
	}
	for i := 1; i < len(order); i++ {
		before := workloads.Moment{Client: order[i-1], Point: workloads.Granted}
		gate := faults.Gate{Client: order[i], Until: before, Timeout: time.Duration(i+2) * s.Params.TTL}
		s.tryIf(func(c *Case) { c.Plan.Gates = append(c.Plan.Gates, gate) }, func(*Run) bool { return true })
	}
}
