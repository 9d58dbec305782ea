package counterexample

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// befallen is a step of the plan, and what is recorded of it.
type befallen struct {
	faults.Step
	from, to time.Duration // to is histories.StillOpen where nothing healed it
	victims  []int32       // the clients that it befell; none: it befell what is everybody's
}

// matched are the steps of a plan that came about, in the order in which they did, with their times: the records of one name and one
// client are the steps' in the order of both, unless how long they lasted says otherwise.
func matched(steps []faults.Step, ops []histories.Op, header histories.Header) []*befallen {
	rec := &records{ops: ops, used: make([]bool, len(ops))}
	var all []*befallen
	for _, step := range steps {
		b := &befallen{Step: step, to: histories.StillOpen}
		name, came := cmp.Or(step.Name, header.Fault), false
		for _, client := range victims(step.Do, header) {
			inject := rec.inject(step, name, client)
			if inject == nil {
				continue
			}
			came, b.from = true, inject.Call
			if client != histories.Harness {
				b.victims = append(b.victims, client)
			}
			if step.For == 0 && step.Until == (workloads.Moment{}) {
				continue
			}
			if heal := rec.take(rec.heal(name, client, b.from, step.For)); heal != nil {
				b.to = heal.Call
				if b.to < b.from+b.For-instant {
					b.For = 0 // the trial was over before
				}
			}
		}
		if step.Do.Verb == faults.Stall && b.to == histories.StillOpen {
			b.to = b.from + step.Do.By
		}
		if came {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b *befallen) int { return cmp.Compare(a.from, b.from) })
	return all
}

// lasts tells whether a step goes on until it is healed, rather than being over at once.
func (b *befallen) lasts() bool {
	return slices.Contains([]faults.Verb{faults.Pause, faults.Cut, faults.Slow, faults.Mute, faults.Freeze, faults.Drift, faults.Down}, b.Do.Verb)
}

// records are what is recorded of faults, each of one step.
type records struct {
	ops  []histories.Op
	used []bool
}

// take has a record be no other step's; i is less than 0 for none.
func (r *records) take(i int) *histories.Op {
	if i < 0 {
		return nil
	}
	r.used[i] = true
	return &r.ops[i]
}

// inject is the beginning of a step: of those that it may be, the first whose end comes when the step's is due.
func (r *records) inject(step faults.Step, name string, client int32) *histories.Op {
	gone := step.Do.Verb == faults.Kill || step.Do.Verb == faults.Abandon
	first := -1
	for i, op := range r.ops {
		if r.used[i] || op.Kind != histories.Inject || op.Fault != name || op.Client != client || op.EndsClient() != gone {
			continue
		}
		if first < 0 {
			first = i
		}
		if step.For == 0 {
			break
		}
		if end := r.heal(name, client, op.Call, step.For); end >= 0 && punctual(r.ops[end].Call, op.Call+step.For) {
			return r.take(i)
		}
	}
	return r.take(first)
}

// heal is the first end of a fault after it began that comes when it is due, or else the first of all.
func (r *records) heal(name string, client int32, from, lasts time.Duration) int {
	first := -1
	for i, op := range r.ops {
		if r.used[i] || op.Kind != histories.Heal || op.Fault != name || op.Client != client || op.Call < from {
			continue
		}
		if punctual(op.Call, from+lasts) {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// punctual tells whether an end comes when it is due, as near as a process that stands still meanwhile lets it.
func punctual(end, due time.Duration) bool { return (end - due).Abs() < time.Millisecond }

// victims are the clients in whose name a step is recorded: the harness's where it befalls no one client.
func victims(a faults.Action, header histories.Header) []int32 {
	switch a.Verb {
	case faults.Stall, faults.Abandon, faults.GiveUp, faults.Delay, faults.Lose:
		return []int32{a.Client}
	case faults.Pause, faults.Kill, faults.Cut:
		var all []int32
		for c := range header.Clients {
			if c%max(header.Processes, 1) == a.Process {
				all = append(all, int32(c))
			}
		}
		return all
	}
	return []int32{histories.Harness}
}

// misfortunes are what went wrong, and how it ended, as far as it matters.
func (s *teller) misfortunes() []*moment {
	var all []*moment
	for _, f := range s.faults {
		if f.from > s.until {
			continue
		}
		name := cmp.Or(f.Name, "fault")
		rank := befalls
		if f.When.On != nil {
			rank = strikes
		}
		all = append(all, &moment{at: f.from, rank: rank, weight: crux, fault: f, tell: func() string {
			return name + ": " + phrase(f.Step, s.setting(f))
		}})
		lasts := f.For > 0 || f.Until != (workloads.Moment{})
		if over := healed(f.Step, s.setting(f)); over != "" && lasts && f.to != histories.StillOpen && f.to <= s.until {
			all = append(all, &moment{at: f.to, rank: heals, weight: ending, fault: f, tell: func() string { return over }})
		}
	}
	return all
}

// instant is how far apart records can be of what is one instant of the virtual clock.
const instant = time.Microsecond

// align has a fault that a command triggered begin with the operation that the command is of, which is recorded as
// called a few ns later.
func (s *teller) align() {
	for _, f := range s.faults {
		for _, op := range s.Ops {
			asks := op.Kind == histories.Acquire || op.Kind == histories.Release
			if f.When.On != nil && asks && op.Call > f.from && op.Call <= f.from+instant && int(op.Client)%s.Params.Processes == f.When.On.Process {
				f.from = op.Call
			}
		}
	}
}

// setting is what a step happens in, as far as its phrase depends on it.
type setting struct {
	servers int
	ttl     time.Duration
	passing string // what was on its way, where that triggered it
	clients []int32
	durable bool
	several bool // replicas
}

func (s *teller) setting(f *befallen) setting {
	of := setting{servers: 1, ttl: s.Params.TTL, clients: f.victims, durable: s.Deployment == "durable",
		several: s.Deployment == "two-replicas" || s.Deployment == "sentinel"}
	if s.Deployment == "five" || s.Deployment == "five-delayed" {
		of.servers = 5
	}
	if f.When.On != nil {
		of.passing = s.passing(f)
	}
	return of
}

// passing is the command or the reply that triggered a step, and whose it is, as far as the record tells.
func (s *teller) passing(f *befallen) string {
	on := f.When.On
	command := "command"
	if len(on.Commands) > 0 {
		command = listed(on.Commands, "or")
	}
	of := fmt.Sprintf("a %s of process %d", command, on.Process)
	var under []*histories.Op
	for i := range s.Ops {
		op := &s.Ops[i]
		inside := op.Call <= f.from && (op.Open() || f.from <= op.Return)
		if inside && (op.Kind == histories.Acquire || op.Kind == histories.Release) && !s.fresh(op.Client) && int(op.Client)%s.Params.Processes == on.Process {
			under = append(under, op)
		}
	}
	if len(under) == 1 {
		of = s.passed(f, under[0], command)
	}
	if on.Reply {
		return "the reply to " + of
	}
	return of
}

// passed is a command under an operation. Which it is, is known where it was counted from that operation on.
func (s *teller) passed(f *befallen, op *histories.Op, command string) string {
	on, from := f.When.On, f.When.At
	whose := fmt.Sprintf("client %d's %s", op.Client, op.Kind)
	acquired := op.Kind == histories.Acquire && from.Point == workloads.Asking
	switch released := op.Kind == histories.Release && from.Point == workloads.Releasing; {
	case op.Client != from.Client || !acquired && !released:
		return fmt.Sprintf("a %s of %s", command, whose)
	case on.Nth > 1:
		return fmt.Sprintf("the %s %s of %s", ordinal(on.Nth), command, whose)
	case len(on.Commands) > 1: // those that take a lock, or free it
		return whose
	}
	return fmt.Sprintf("the %s of %s", cmp.Or(strings.Join(on.Commands, ""), "first command"), whose)
}

func ordinal(n int) string {
	switch {
	case n%10 == 1 && n%100 != 11:
		return strconv.Itoa(n) + "st"
	case n%10 == 2 && n%100 != 12:
		return strconv.Itoa(n) + "nd"
	case n%10 == 3 && n%100 != 13:
		return strconv.Itoa(n) + "rd"
	}
	return strconv.Itoa(n) + "th"
}
