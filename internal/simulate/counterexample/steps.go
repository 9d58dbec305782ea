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
	"lockbench/internal/drive/inject"
	"lockbench/workloads"
)

// phrase holds the texts for the start and the end of a fault. The second text is empty if the end is not shown.
// Example.say replaces the names in braces.
type phrase struct{ begins, ends string }

// phrases maps each kind of fault action to the texts that describe it in an event list.
var phrases = map[faults.Verb]phrase{
	faults.Stall:   {"client {client} works for {by}{lease}", ""},
	faults.Abandon: {"client {client} goes away without releasing; its process lives on", ""},
	faults.GiveUp:  {"client {client} cancels its acquire after {wait}, and {passing} is delayed by {by}", "{passing} is delivered"},
	faults.Pause:   {"{process} is paused", "{process} resumes"},
	faults.Kill:    {"{process} is killed", ""},
	faults.Exit:    {"the main function of {process} ends without a release", ""},

	faults.ClientJump:  {"the clock of {process} jumps {by} {forward}", ""},
	faults.ClientDrift: {"the clock of {process} {gains} {by} in each second", "the clock of {process} runs at its usual speed again"},

	faults.Delay: {"{passing} is delayed by {by}", "{passing} is delivered"},
	faults.Lose:  {"{passing} is lost, and its connection {silent}", ""},
	faults.Cut:   {"{process} and {servers} cannot reach each other", "{process} and {servers} can reach each other again"},
	faults.Slow:  {"messages between {process} and {servers} take {by} longer each way", "the network is as fast as before"},
	faults.Mute:  {"published messages to {process} are lost", ""},

	faults.Restart:  {"{servers}: restart{memory}{after}", "{servers}: back{memory}"},
	faults.Down:     {"{servers}: down for good", ""},
	faults.Freeze:   {"{servers}: paused", "{servers}: resumed"},
	faults.Unlink:   {"{replica} receives no more writes from the primary", ""},
	faults.Failover: {"the primary dies, and {replica} is promoted with the data that it has", ""},
	faults.Jump:     {"{servers}: the clock jumps {by} {forward}", ""},
	faults.Drift:    {"{servers}: the clock {gains} {by} in each second", "{servers}: the clock runs at its usual speed again"},
	faults.Evict:    {"{servers}: short of memory, drops the lock", ""},
	faults.Unseat:   {"{servers}: ends the session {role} the lock", ""},
	faults.Depose:   {"the leader dies, and another server leads", ""},

	faults.Interrupt:     {"client {client} cancels its release after {wait}, and {passing} is delayed by {by}", "{passing} is delivered"},
	faults.Reset:         {"the connections between {process} and {servers} are closed", ""},
	faults.Empty:         {"{servers}: all data is deleted", ""},
	faults.ForgetScripts: {"{servers}: the scripts of clients are forgotten", ""},
	faults.ReadOnly:      {"{servers}: writes are refused", "{servers}: writes are accepted again"},
	faults.Full:          {"{servers}: writes that need memory are refused", "{servers}: writes are accepted again"},
}

// points describes what a client does at each point of an iteration.
var points = map[workloads.Point]string{workloads.Asking: "tries to acquire the lock", workloads.Granted: "acquires the lock",
	workloads.Working: "works", workloads.Releasing: "releases the lock"}

func (x *Example) describe(f *fault) string {
	begins := phrases[f.Do.Verb].begins
	if f.Do.Verb == faults.Cut && f.Do.OneWay {
		begins = "replies from {servers} to {process} are lost"
	}
	text := x.say(begins, f, "a message")
	switch {
	case faults.OnItsWay(f.Do.Verb):
		return text
	case f.Do.Verb == faults.Stall || f.Do.Verb == faults.Restart:
	case f.For > 0 && f.To < f.From+f.For-sameTime: // the trial ended before the end of the fault
	case f.For > 0:
		text += " for " + lasting(f.For)
	case f.hasEnd():
		text += fmt.Sprintf(" until client %d %s", f.Until.Client, points[f.Until.Point])
	}
	if f.passing != "" {
		text += ", while " + f.passing + " is on its way"
	}
	return text
}

// describeEnd returns the text for the end of a fault, or "" if the end is not shown.
func (x *Example) describeEnd(f *fault) string {
	return x.say(phrases[f.Do.Verb].ends, f, "the message")
}

// say replaces each placeholder in braces, such as {client}, with its value. {passing} stands for the command or reply
// that triggered the fault. If it is unknown, say inserts message.
func (x *Example) say(text string, f *fault, message string) string {
	do, by := f.Do, lasting(f.Do.By.Abs())
	either := func(yes bool, text, otherwise string) string {
		if yes {
			return text
		}
		return otherwise
	}
	memory := either(x.Deployment == "durable", " with what it has on disk", " with an empty memory")
	return strings.NewReplacer("{client}", strconv.Itoa(int(do.Client)), "{process}", f.process(), "{servers}", x.servers(f),
		"{replica}", x.replica(f), "{passing}", cmp.Or(f.passing, message), "{by}", by, "{wait}", lasting(do.Wait),
		"{lease}", either(do.By > x.Params.TTL, ", longer than its lease of "+lasting(x.Params.TTL), ""),
		"{memory}", either(do.Keeps, " with all its data", memory), "{after}", either(do.By > 0, " after "+by, ""),
		"{role}", either(do.Waiter, "that was the last to wait for", "that holds"),
		"{silent}", either(do.Silent, "stays silent", "is closed"), "{forward}", either(do.By < 0, "back", "forward"),
		"{gains}", either(do.By < 0, "loses", "gains")).Replace(text)
}

// process returns the name of the process that a fault affects. If the fault affects clients in the process, the name
// lists them.
func (f *fault) process() string {
	if f.Do.Process < 0 {
		return "every process"
	}
	text := "process " + strconv.Itoa(f.Do.Process)
	if len(f.Clients) > 0 {
		text += " (" + numbered("client", f.Clients) + ")"
	}
	return text
}

func (x *Example) servers(f *fault) string {
	count := faults.Scene{Deployment: x.Deployment}.Servers()
	switch {
	case count == 1:
		return "the server"
	case len(f.Do.Nodes) == 0 || len(f.Do.Nodes) == count:
		return "every server"
	}
	return numbered("server", f.Do.Nodes)
}

func (x *Example) replica(f *fault) string {
	if x.Deployment != "two-replicas" && x.Deployment != "sentinel" || len(f.Do.Nodes) == 0 {
		return "the replica"
	}
	return numbered("replica", f.Do.Nodes)
}

func numbered[N int | int32](noun string, n []N) string {
	var words []string
	for _, i := range slices.Sorted(slices.Values(n)) {
		words = append(words, strconv.Itoa(int(i)))
	}
	if len(words) > 1 {
		noun += "s"
	}
	return noun + " " + joined(words)
}

// fault is an injected fault. The field passing describes the command or reply that triggered it, if any.
type fault struct {
	inject.Strike
	passing string
}

// hasEnd reports whether the fault plan specifies when the fault ends.
func (f *fault) hasEnd() bool { return f.For > 0 || f.Until != (workloads.Moment{}) }

// sameTime is the largest difference between two recorded times that count as equal.
const sameTime = time.Microsecond

func (x *Example) faultsOf() []*fault {
	var all []*fault
	for _, s := range x.Strikes {
		f := &fault{Strike: s}
		if s.Do.Verb == faults.Stall && s.To == histories.StillOpen {
			f.To = s.From + s.Do.By
		}
		x.trigger(f)
		all = append(all, f)
	}
	return all
}

// trigger finds the operation whose command triggered a fault. The recorded time of the operation may be some
// nanoseconds after the fault.
func (x *Example) trigger(f *fault) {
	on := f.When.On
	if on == nil {
		return
	}
	var under []*histories.Op
	for i := range x.Ops {
		op := &x.Ops[i]
		if op.Kind != histories.Acquire && op.Kind != histories.Release || int(op.Client)%max(x.Params.Processes, 1) != on.Process || x.fresh(op) {
			continue
		}
		if op.Call > f.From && op.Call <= f.From+sameTime {
			f.From = op.Call
		}
		if op.Call <= f.From && (op.Open() || f.From <= op.Return) {
			under = append(under, op)
		}
	}
	f.passing = fmt.Sprintf("a command of process %d", on.Process)
	if len(under) == 1 {
		f.passing = fmt.Sprintf("client %d's %s", under[0].Client, under[0].Kind)
	}
	if len(on.Commands) == 1 {
		f.passing += " (" + on.Commands[0] + ")"
	}
	if on.Reply {
		f.passing = "the reply to " + f.passing
	}
}
