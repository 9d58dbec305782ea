package counterexample

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// describe says what a fault does. There is a case for each faults.Verb.
func (x *Example) describe(f *fault) string {
	do, by, passing := f.Do, lasting(f.Do.By.Abs()), cmp.Or(f.passing, "a message")
	switch do.Verb {
	case faults.GiveUp:
		return fmt.Sprintf("client %d gives up after %s, and %s is delayed by %s", do.Client, lasting(do.Wait), passing, by)
	case faults.Delay:
		return fmt.Sprintf("%s is delayed by %s", passing, by)
	case faults.Lose:
		if do.Silent {
			return passing + " is lost, and its connection stays silent"
		}
		return passing + " is lost, and its connection is closed"
	}
	text := x.toProcess(f, by)
	if text == "" {
		text = x.toServers(f, by)
	}
	switch {
	case do.Verb == faults.Stall || do.Verb == faults.Restart:
	case f.For > 0 && f.To < f.From+f.For-instant: // the trial ended before
	case f.For > 0:
		text += " for " + lasting(f.For)
	case f.lasts():
		text += fmt.Sprintf(" until client %d %s", f.Until.Client, points[f.Until.Point])
	}
	if f.passing != "" {
		text += ", while " + f.passing + " is on its way"
	}
	return text
}

// points say what a client does at a point of an iteration.
var points = map[workloads.Point]string{workloads.Asking: "tries to acquire the lock", workloads.Granted: "acquires the lock",
	workloads.Working: "works", workloads.Releasing: "releases the lock"}

// toProcess describes what befalls clients, processes and their network; "" for another verb.
func (x *Example) toProcess(f *fault, by string) string {
	do, process, servers := f.Do, f.process(), x.servers(f)
	switch do.Verb {
	case faults.Stall:
		if do.By > x.Params.TTL {
			by += ", longer than its lease of " + lasting(x.Params.TTL)
		}
		return fmt.Sprintf("client %d works for %s", do.Client, by)
	case faults.Abandon:
		return fmt.Sprintf("client %d goes away without releasing; its process lives on", do.Client)
	case faults.Pause:
		return process + " is paused"
	case faults.Kill:
		return process + " is killed"
	case faults.Cut:
		if do.OneWay {
			return fmt.Sprintf("replies from %s to %s are lost", servers, process)
		}
		return fmt.Sprintf("%s and %s cannot reach each other", process, servers)
	case faults.Slow:
		return fmt.Sprintf("messages between %s and %s take %s longer each way", process, servers, by)
	case faults.Mute:
		return "published messages to " + process + " are lost"
	}
	return ""
}

func (x *Example) toServers(f *fault, by string) string {
	do, servers := f.Do, x.servers(f)
	direction := func(positive, negative string) string {
		if do.By < 0 {
			return negative
		}
		return positive
	}
	switch do.Verb {
	case faults.Restart:
		text := servers + ": restart" + x.memory(f)
		if do.By > 0 {
			text += " after " + by
		}
		return text
	case faults.Down:
		return servers + ": down for good"
	case faults.Freeze:
		return servers + ": paused"
	case faults.Unlink:
		return x.replica(f) + " no longer hears from the primary"
	case faults.Failover:
		return "the primary dies, and " + x.replica(f) + " takes over with what it knows"
	case faults.Jump:
		return fmt.Sprintf("%s: the clock jumps %s %s", servers, by, direction("forward", "back"))
	case faults.Drift:
		return fmt.Sprintf("%s: the clock %s %s in each second", servers, direction("gains", "loses"), by)
	case faults.Evict:
		return servers + ": short of memory, drops the lock"
	case faults.Unseat:
		return servers + ": ends the session that holds the lock"
	case faults.Depose:
		return "the leader dies, and another server leads"
	}
	return string(do.Verb)
}

// memory says what a server knows when it is back.
func (x *Example) memory(f *fault) string {
	switch {
	case f.Do.Keeps:
		return " with all that it knew"
	case x.Deployment == "durable":
		return " with what it has on disk"
	}
	return " with an empty memory"
}

// describeEnd says how a fault ends; "" if nothing is to be seen then.
func (x *Example) describeEnd(f *fault) string {
	switch f.Do.Verb {
	case faults.Pause:
		return f.process() + " resumes"
	case faults.Cut:
		return f.process() + " and " + x.servers(f) + " can reach each other again"
	case faults.Slow:
		return "the network is as fast as before"
	case faults.Restart:
		return x.servers(f) + ": back" + x.memory(f)
	case faults.Freeze:
		return x.servers(f) + ": resumed"
	case faults.Drift:
		return x.servers(f) + ": the clock keeps time again"
	case faults.Delay, faults.GiveUp:
		return cmp.Or(f.passing, "the message") + " goes on its way"
	}
	return ""
}

// process names the process that a fault befalls, and its clients if they are its victims.
func (f *fault) process() string {
	if f.Do.Process < 0 {
		return "every process"
	}
	text := "process " + strconv.Itoa(f.Do.Process)
	if f.Clients != nil {
		text += " (" + numbered("client", f.Clients) + ")"
	}
	return text
}

// servers names the servers that a fault befalls.
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

// replica names the replicas that a fault befalls.
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
