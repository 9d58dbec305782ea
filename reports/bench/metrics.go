package bench

import (
	"lockbench/reports/format"
)

// Metric describes one measured value of a trial.
type Metric struct {
	Name     string // name in result files and command-line flags
	Unit     string // unit: "/s", "ms", "us", "B", or "" for a ratio or a count
	Title    string // title in tables of the report
	Doc      string // definition, in one sentence
	Better   int    // 1: higher is better; -1: lower is better; 0: neither
	Primary  bool   // whether comparisons include the metric by default
	Fairness bool   // whether the fairness chart shows the metric
}

// Metrics returns all metrics in display order.
func Metrics() []Metric {
	return []Metric{
		{Name: "goodput", Unit: "/s", Title: "goodput", Better: +1, Primary: true,
			Doc: "critical sections completed per second of the measured window"},
		{Name: "utilisation", Title: "of the ceiling", Better: +1,
			Doc: "goodput divided by min(clients, keys)/(mean measured hold + one round trip of the same block); only with a hold"},
		{Name: "owner_changes", Unit: "/s", Title: "owner changes", Better: +1,
			Doc: "grants per second whose client is not the one that held the key before"},
		{Name: "hold_mean", Unit: "ms", Title: "measured hold",
			Doc: "mean time from the return of an acquire to the call of its release"},
		{Name: "uncontended_p50", Unit: "ms", Title: "uncontended p50", Better: -1, Primary: true,
			Doc: "from the intended start to the grant, if at the call no other client held or wanted the key"},
		{Name: "uncontended_p99", Unit: "ms", Title: "uncontended p99", Better: -1, Doc: "its 99th percentile"},
		{Name: "contended_p50", Unit: "ms", Title: "contended p50", Better: -1,
			Doc: "from the intended start to the grant, if another client held or wanted the key; each client has the same weight, and a wait without a grant counts as at least as long (Kaplan-Meier)"},
		{Name: "contended_p99", Unit: "ms", Title: "contended p99", Better: -1, Doc: "its 99th percentile"},
		{Name: "handoff_p50", Unit: "ms", Title: "hand-off p50", Better: -1,
			Doc: "from the call of a release, with a client waiting, to the return of the next grant"},
		{Name: "handoff_p99", Unit: "ms", Title: "hand-off p99", Better: -1, Doc: "its 99th percentile"},
		{Name: "refused", Unit: "/s", Title: "refused", Doc: "tries per second that were refused (busy)"},
		{Name: "timed_out", Unit: "/s", Title: "timed out", Better: -1, Doc: "acquires per second that timed out"},
		{Name: "jain", Title: "Jain", Better: +1, Fairness: true,
			Doc: "(sum x)^2/(n sum x^2) over the critical sections x of the n clients: 1 is even, 1/n is one for all"},
		{Name: "min_max_share", Title: "min/max share", Better: +1, Fairness: true,
			Doc: "critical sections of the client with the fewest divided by those of the one with the most"},
		{Name: "starved", Title: "clients with nothing", Better: -1, Fairness: true, Doc: "clients that completed nothing in the window"},
		{Name: "longest_wait", Unit: "ms", Title: "longest wait", Better: -1, Fairness: true,
			Doc: "the longest wait in the window; one that the end of the window cuts off would have been longer"},
		{Name: "wait_rounds", Title: "longest wait in rounds", Better: -1, Fairness: true,
			Doc: "longest wait divided by clients x mean time between two grants of a key: 1 is a turn for every client"},
		{Name: "bypassed", Title: "overtaken", Better: -1, Fairness: true,
			Doc: "the most grants of a key to later clients while one client waited"},
		{Name: "attempts", Title: "attempts", Better: -1,
			Doc: "attempts to acquire at the store, divided by grants; absent if the lock does not count them"},
		{Name: "wasted_wakeups", Title: "wasted wake-ups", Better: -1,
			Doc: "woken waiters that were refused, divided by releases; absent if the lock wakes no waiters or does not count them"},
		{Name: "commands", Title: "server commands", Better: -1, Primary: true,
			Doc: "commands that the server executed, including those in scripts, less those of an idle server, divided by grants"},
		{Name: "round_trips", Title: "round trips", Better: -1, Doc: "a send and then a read of a client, over all connections, divided by grants"},
		{Name: "server_cpu", Unit: "us", Title: "server CPU", Better: -1, Doc: "processor time of the server, less that of an idle server, divided by grants"},
		{Name: "server_bytes", Unit: "B", Title: "bytes", Better: -1, Doc: "bytes between clients and servers, counted at the clients, divided by grants"},
		{Name: "renewals", Unit: "/s", Title: "renewals", Better: -1, Doc: "renewals per second held"},
		{Name: "client_cpu", Unit: "us", Title: "client CPU", Better: -1,
			Doc: "processor time of the harness with its recording, divided by grants; the baseline none has no other part"},
		{Name: "client_allocs", Title: "allocations", Better: -1, Doc: "objects allocated in the harness, divided by grants"},
		{Name: "client_alloc_bytes", Unit: "B", Title: "allocated", Better: -1, Doc: "bytes allocated in the harness, divided by grants"},
		{Name: "late_p99", Unit: "ms", Title: "generator late p99", Better: -1,
			Doc: "99th percentile of the delay between the intended and the actual start of an iteration"},
		{Name: "late_max", Unit: "ms", Title: "generator late at most", Better: -1, Doc: "the longest such delay"},
		{Name: "stall_max", Unit: "ms", Title: "harness stalled", Better: -1,
			Doc: "the longest time for which the harness did not run"},
		{Name: "processors", Title: "processors busy",
			Doc: "processors that the harness and the server used; if all are busy, the machine is the limit"},
		{Name: "round_trip_p50", Unit: "ms", Title: "round trip p50", Better: -1, Doc: "of a baseline: the store's simplest command, one at a time"},
	}
}

// FindMetric returns the metric with the given name.
func FindMetric(name string) (Metric, bool) {
	return find(Metrics(), func(m Metric) bool { return m.Name == name })
}

// Heading returns the metric's title followed by its unit.
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
	if m.Name == "starved" || m.Name == "bypassed" { // these metrics are whole numbers
		return format.TrimZeros(format.Significant(v))
	}
	return format.Significant(v)
}
