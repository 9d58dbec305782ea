package bench

import (
	"lockbench/reports/format"
)

// Metric is one figure of a trial: its name in files and flags, and how it is read.
type Metric struct {
	Name     string
	Unit     string // "/s", "ms", "us", "" (a ratio or a count), "B"
	Title    string // in tables
	Doc      string // one sentence: what exactly is divided by what
	Better   int    // +1: more is better, -1: less is, 0: neither
	Primary  bool   // compared by default
	Fairness bool   // of the chart of fairness
}

// Metrics is every metric, in display order.
func Metrics() []Metric {
	return []Metric{
		{Name: "goodput", Unit: "/s", Title: "goodput", Better: +1, Primary: true,
			Doc: "critical sections completed per second of the measured window"},
		{Name: "utilisation", Title: "of the ceiling", Better: +1,
			Doc: "goodput divided by min(clients, keys)/(mean measured hold + one round trip of the same block); only where something is held"},
		{Name: "owner_changes", Unit: "/s", Title: "owner changes", Better: +1,
			Doc: "grants per second whose client is not the one that held the key before"},
		{Name: "hold_mean", Unit: "ms", Title: "measured hold",
			Doc: "mean time from the return of an acquire to the call of its release"},
		{Name: "uncontended_p50", Unit: "ms", Title: "uncontended p50", Better: -1, Primary: true,
			Doc: "from the intended start to the grant, where at the call nobody else held the key or asked for it"},
		{Name: "uncontended_p99", Unit: "ms", Title: "uncontended p99", Better: -1, Doc: "its 99th percentile"},
		{Name: "contended_p50", Unit: "ms", Title: "contended p50", Better: -1,
			Doc: "from the intended start to the grant, where somebody else held the key or asked for it"},
		{Name: "contended_p99", Unit: "ms", Title: "contended p99", Better: -1, Doc: "its 99th percentile"},
		{Name: "handoff_p50", Unit: "ms", Title: "hand-off p50", Better: -1,
			Doc: "from the call of a release, with somebody waiting, to the return of the next grant"},
		{Name: "handoff_p99", Unit: "ms", Title: "hand-off p99", Better: -1, Doc: "its 99th percentile"},
		{Name: "refused", Unit: "/s", Title: "refused", Doc: "tries per second that were answered busy"},
		{Name: "timed_out", Unit: "/s", Title: "timed out", Better: -1, Doc: "acquires per second whose patience ended first"},
		{Name: "jain", Title: "Jain", Better: +1, Fairness: true,
			Doc: "(sum x)^2/(n sum x^2) over the critical sections x of the n clients: 1 is even, 1/n is one for all"},
		{Name: "min_max_share", Title: "min/max share", Better: +1, Fairness: true,
			Doc: "critical sections of the client with the fewest divided by those of the one with the most"},
		{Name: "starved", Title: "with nothing", Better: -1, Fairness: true, Doc: "clients that completed nothing in the window"},
		{Name: "longest_wait", Unit: "ms", Title: "longest wait", Better: -1, Fairness: true,
			Doc: "the longest wait that ended in the window or was cut off by its end: then it would have been longer"},
		{Name: "wait_rounds", Title: "longest wait in rounds", Better: -1, Fairness: true,
			Doc: "longest wait divided by clients x mean time between two grants of a key: 1 is everybody once"},
		{Name: "bypassed", Title: "overtaken", Better: -1, Fairness: true,
			Doc: "the most grants of a key to clients that had asked later than one who was still waiting"},
		{Name: "attempts", Title: "attempts", Better: -1,
			Doc: "times that a lock asked its store for the lock, divided by grants; absent where the lock does not tell"},
		{Name: "wasted_wakeups", Title: "wasted wake-ups", Better: -1,
			Doc: "waiters that were told to ask again and were refused, divided by releases; absent where nobody is woken or the lock does not tell"},
		{Name: "commands", Title: "server commands", Better: -1, Primary: true,
			Doc: "commands that the server executed, those inside scripts counted, less its idle ones, divided by grants"},
		{Name: "round_trips", Title: "round trips", Better: -1, Doc: "times that a client sent and then read, over all connections, divided by grants"},
		{Name: "server_cpu", Unit: "us", Title: "server CPU", Better: -1, Doc: "processor time of the server, less its idle one, divided by grants"},
		{Name: "server_bytes", Unit: "B", Title: "bytes", Better: -1, Doc: "bytes between clients and servers, counted at the clients, divided by grants"},
		{Name: "renewals", Unit: "/s", Title: "renewals", Better: -1, Doc: "renewals per second held"},
		{Name: "client_cpu", Unit: "us", Title: "client CPU", Better: -1,
			Doc: "processor time of the harness, its recording included, divided by grants: the lock none is what the harness takes by itself"},
		{Name: "client_allocs", Title: "allocations", Better: -1, Doc: "objects allocated in the harness, divided by grants"},
		{Name: "client_alloc_bytes", Unit: "B", Title: "allocated", Better: -1, Doc: "bytes allocated in the harness, divided by grants"},
		{Name: "late_p99", Unit: "ms", Title: "generator late p99", Better: -1,
			Doc: "99th percentile of the time from when a client could have begun an iteration to when it did"},
		{Name: "late_max", Unit: "ms", Title: "generator late at most", Better: -1, Doc: "the longest such time"},
		{Name: "stall_max", Unit: "ms", Title: "harness stalled", Better: -1,
			Doc: "the longest time in which nothing of the harness ran"},
		{Name: "processors", Title: "processors busy",
			Doc: "processors that the harness and the server took together: at all that there are, the machine was the limit"},
		{Name: "round_trip_p50", Unit: "ms", Title: "round trip p50", Better: -1, Doc: "of a floor: the store's simplest question, one at a time"},
	}
}

// FindMetric finds a metric by its name.
func FindMetric(name string) (Metric, bool) {
	return find(Metrics(), func(m Metric) bool { return m.Name == name })
}

// Heading returns the metric's title with its unit.
func (m Metric) Heading() string {
	switch m.Unit {
	case "":
		return m.Title
	case "us":
		return m.Title + ", µs"
	case "/s":
		return m.Title + " /s"
	}
	return m.Title + ", " + m.Unit
}

func metricText(m Metric, v float64) string {
	if m.Name == "starved" || m.Name == "bypassed" { // clients and grants are whole ones
		return format.TrimZeros(format.Significant(v))
	}
	return format.Significant(v)
}
