package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/internal/faults"
	"lockbench/workloads"
)

// befallen is a step of the plan, and what is recorded of it.
type befallen struct {
	faults.Step
	from, to time.Duration // to is histories.StillOpen where nothing healed it
	victims  []int32       // the clients that it befell; none: it befell what is everybody's
}

// matched are the steps of a plan that came about, with the times at which they did: the records of one name and one
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
			}
		}
		if came {
			all = append(all, b)
		}
	}
	return all
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
		if over := healed(f.Step, s.setting(f)); over != "" && f.to != histories.StillOpen && f.to <= s.until {
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

// phrase tells what a step does, in plain words.
func phrase(step faults.Step, in setting) string {
	text := done(step, in)
	switch step.Do.Verb {
	case faults.GiveUp, faults.Delay, faults.Lose: // they name it themselves
		return text
	}
	if in.passing != "" {
		text += ", as " + in.passing + " is on its way"
	}
	return text
}

// done is what a step does. The verbs are those of faults.Verb, all of them.
func done(step faults.Step, in setting) string {
	do, by, node := step.Do, lasting(step.Do.By.Abs()), in.nodes(step.Do.Nodes)
	process := processes(do.Process)
	passing := cmp.Or(in.passing, "what is on its way")
	switch do.Verb {
	case faults.Stall:
		if do.By > in.ttl {
			return fmt.Sprintf("client %d works for %s, longer than the lease of %s", do.Client, by, lasting(in.ttl))
		}
		return fmt.Sprintf("client %d works for %s", do.Client, by)
	case faults.Abandon:
		return fmt.Sprintf("client %d goes away without giving anything back; its process lives on", do.Client)
	case faults.GiveUp:
		return fmt.Sprintf("client %d is to wait for no longer than %s, and %s comes %s late", do.Client, lasting(do.Wait), passing, by)
	case faults.Pause:
		return fmt.Sprintf("%s%s stands still%s", process, in.with(), span(step))
	case faults.Kill:
		return fmt.Sprintf("%s%s is killed", process, in.with())
	case faults.Delay:
		return fmt.Sprintf("%s comes %s late", passing, by)
	case faults.Lose:
		if do.Silent {
			return fmt.Sprintf("%s is lost, and its connection says nothing more", passing)
		}
		return fmt.Sprintf("%s is lost, and its connection is closed", passing)
	case faults.Cut:
		if do.OneWay {
			return fmt.Sprintf("what %s asks of %s is done, and the answers are lost%s", process, node, span(step))
		}
		return fmt.Sprintf("%s and %s hear nothing of each other%s", process, node, span(step))
	case faults.Slow:
		return fmt.Sprintf("everything between %s and %s takes %s longer, each way%s", process, node, by, span(step))
	case faults.Mute:
		return fmt.Sprintf("what is published to %s is lost", process)
	}
	return doneToServers(step, in, node, by)
}

func doneToServers(step faults.Step, in setting, node, by string) string {
	do := step.Do
	several := len(do.Nodes) > 1
	verb := func(one, many string) string {
		if several {
			return node + " " + many
		}
		return node + " " + one
	}
	switch do.Verb {
	case faults.Restart:
		if do.By > 0 {
			return fmt.Sprintf("%s down for %s%s", verb("goes", "go"), by, memory(do, in, " and will be back"))
		}
		return verb("restarts", "restart") + memory(do, in, "")
	case faults.Down:
		return verb("goes down and does not come back", "go down and do not come back")
	case faults.Freeze:
		return verb("stands still", "stand still") + span(step)
	case faults.Unlink:
		return in.replicas(do.Nodes) + " nothing more of what the primary does"
	case faults.Failover:
		return fmt.Sprintf("the primary dies, and what %s knows takes its place", in.replica(do.Nodes))
	case faults.Jump:
		way := "forward"
		if do.By < 0 {
			way = "back"
		}
		return fmt.Sprintf("the clock of %s jumps %s %s", node, by, way)
	case faults.Drift:
		way := "gains"
		if do.By < 0 {
			way = "loses"
		}
		return fmt.Sprintf("the clock of %s %s %s in each second%s", node, way, by, span(step))
	case faults.Evict:
		return verb("runs", "run") + " short of memory and forgets the lock"
	}
	return string(do.Verb)
}

// memory is what a server knows that comes back.
func memory(do faults.Action, in setting, before string) string {
	switch {
	case do.Keeps:
		return before + " with all that it knew"
	case in.durable:
		return before + " with what it has on disk"
	}
	return before + " with nothing in its memory"
}

// healed tells the end of a step; "" where it has none worth telling.
func healed(step faults.Step, in setting) string {
	node := in.nodes(step.Do.Nodes)
	switch step.Do.Verb {
	case faults.Pause:
		return processes(step.Do.Process) + " goes on where it was"
	case faults.Cut:
		return fmt.Sprintf("%s and %s hear each other again", processes(step.Do.Process), node)
	case faults.Slow:
		return "the network is as fast as before"
	case faults.Restart:
		return node + " is back" + memory(step.Do, in, "")
	case faults.Freeze:
		return node + " goes on"
	case faults.Drift:
		return "the clock of " + node + " keeps time again"
	case faults.Delay, faults.GiveUp:
		return cmp.Or(in.passing, "what was held back") + " goes on its way"
	}
	return ""
}

// span is how long a step lasts.
func span(step faults.Step) string {
	switch u := step.Until; {
	case step.For > 0:
		return " for " + lasting(step.For)
	case u != (workloads.Moment{}):
		return " until client " + strconv.Itoa(int(u.Client)) + points[u.Point]
	}
	return ""
}

// points are what a client does at a point of an iteration.
var points = map[workloads.Point]string{workloads.Asking: " asks", workloads.Granted: " is granted the lock",
	workloads.Working: " is at work", workloads.Releasing: " gives the lock back"}

// with are the clients of a process that a step befell.
func (in setting) with() string {
	var names []string
	for _, c := range in.clients {
		names = append(names, fmt.Sprintf("client %d", c))
	}
	if names == nil {
		return ""
	}
	return ", and " + listed(names, "and") + " with it,"
}

func (in setting) nodes(nodes []int) string {
	switch {
	case in.servers == 1:
		return "the server"
	case len(nodes) == 0 || len(nodes) == in.servers:
		return "every server"
	}
	return numbered("server", nodes)
}

func processes(p int) string {
	if p < 0 {
		return "every process"
	}
	return "process " + strconv.Itoa(p)
}

func (in setting) replicas(nodes []int) string {
	if len(nodes) > 1 {
		return numbered("replica", nodes) + " hear"
	}
	return in.replica(nodes) + " hears"
}

func (in setting) replica(nodes []int) string {
	if !in.several || len(nodes) == 0 {
		return "the replica"
	}
	return "replica " + strconv.Itoa(nodes[0])
}

func numbered(noun string, n []int) string {
	var words []string
	for _, i := range slices.Sorted(slices.Values(n)) {
		words = append(words, strconv.Itoa(i))
	}
	switch len(words) {
	case 0:
		return "the " + noun
	case 1:
		return noun + " " + words[0]
	}
	return noun + "s " + listed(words, "and")
}
