package counterexample

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

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
		return fmt.Sprintf("everything between %s and %s takes %s longer each way%s", process, node, by, span(step))
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
	case faults.Unseat:
		return verb("ends", "end") + " the session that holds the lock"
	case faults.Depose:
		return "the leader dies, and another takes its place"
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
	return before + " with an empty memory"
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
