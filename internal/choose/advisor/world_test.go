package advisor

import (
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/choose/decision"
	"lockbench/reports/bench"
	"lockbench/reports/selection"
	"lockbench/reports/stats"
)

// measuredOf holds typical figures of each lock: goodput, min/max share, commands per grant, and acquire time. Goodput and
// share are for 16 clients with holds of 1 ms. The acquire time is the median without contention, in ms.
var measuredOf = map[string][4]float64{
	"set-px-lua": {568, 0.15, 60, 0.15}, "redisson": {658, 0.4, 13, 0.16}, "fenced": {733, 0.96, 9, 0.2}, "redlock": {300, 0.3, 90, 0.5},
	"redsync": {716, 0, 4.4, 0.2}, "redsync-tuned": {603, 0.38, 16, 0.2}, "redislock": {759, 0, 6.1, 0.17}, "redislock-tuned": {710, 0.12, 17, 0.17},
	"rueidislock": {606, 0.46, 33, 0.3}, "rueidislock-tuned": {702, 0.48, 12, 0.2}, "set-px-wait": {400, 0.2, 60, 0.3},
	"set-px-lua@cluster": {500, 0.15, 60, 0.2}, "redisson@cluster": {600, 0.4, 13, 0.2},
	"mysql-getlock": {831, 0.9, 2, 0.1}, "mysql-row-ttl": {300, 0.2, 20, 0.4}, "postgres-advisory": {800, 0.95, 2, 0.1},
	"zookeeper": {329, 0.97, 6, 1.4}, "zk-lock": {310, 0.95, 7, 1.5}, "etcd": {295, 0.96, 9, 0.6}, "etcd-concurrency": {280, 0.9, 10, 0.7},
}

// world returns evidence in which all expectations of the given locks are met. The measured values are those in the variable
// measuredOf.
func world(n selection.Needs, options []selection.Option) selection.Evidence {
	e := selection.Evidence{Sources: []selection.Source{{ID: "R1", Kind: "run", Dir: "run"}, {ID: "B1", Kind: "bench", Dir: "bench"}}}
	for _, o := range options {
		if o.Kind != selection.ALock {
			continue
		}
		impl, _ := candidate{lock: o.Name}.in(table())
		e.Findings = append(e.Findings, expected(n, o, impl)...)
		e.Figures = append(e.Figures, figured(n, o)...)
	}
	for i := range e.Findings {
		e.Findings[i].ID = "P" + string(rune('0'+i%10)) + time.Duration(i).String()
	}
	for i := range e.Figures {
		e.Figures[i].ID = "M" + time.Duration(i).String()
	}
	return e
}

// expected returns findings for all workloads and faults that the advisor tries with a lock. The findings agree with the
// expectations of the lock's author.
func expected(n selection.Needs, o selection.Option, impl impls.Impl) []selection.Finding {
	var list []selection.Finding
	for _, s := range Stages() {
		for _, c := range s.Cells(n, []selection.Option{o}) {
			f := selection.Finding{Source: "R1", Dir: c.Dir(), Lock: impl.Name, Deployment: c.On(), Workload: c.Workload.Name, Fault: c.Fault.Name,
				Scenario: c.Scenario, Trials: s.Trials, Operations: 100, TTLNS: int64(800 * time.Millisecond), Clients: 3, Histories: []selection.History{}}
			situation := impls.Situation{Workload: c.Workload.Name, Special: c.Workload.Special, Fault: c.Fault.Name, Deployment: c.On(), Processes: 3}
			if assumedExclusive(impl, situation) {
				f.Property, f.Observed = "mutual-exclusion", checker.Held
				list = append(list, f)
			}
			for _, want := range impl.Expected(situation) {
				f.Property = want.Property
				f.Observed = map[histories.Expected]checker.Observed{histories.ToHold: checker.Held, histories.ToBeViolated: checker.Violated}[want.Expected]
				list = append(list, f)
			}
			if c.Fault.Name == decision.LongestPause {
				list = append(list, outliving(n, o, f))
			}
		}
	}
	for i := range list {
		if list[i].Observed == checker.Violated {
			list[i].ViolatedIn, list[i].Violations = 1, 1
		}
	}
	return list
}

// assumedExclusive reports whether a lock is assumed to exclude clients in a situation for which it has no stated expectation.
// This is assumed only of session locks, because a lost message does not end a session.
func assumedExclusive(impl impls.Impl, s impls.Situation) bool {
	said := slices.ContainsFunc(impl.Expected(s), func(e impls.Expectation) bool { return e.Property == "mutual-exclusion" })
	return impl.Session && !impl.ThirdParty && !said && !s.Special
}

// outliving returns a copy of the finding f for the advised lease, which is longer than the pause. In the copy, mutual exclusion
// holds unless the lock is the one named "fenced". The lease of that lock is shorter after a hand-off.
func outliving(n selection.Needs, o selection.Option, f selection.Finding) selection.Finding {
	ttl := decision.AdviseTTL(n, o.Lease)
	f.TTLNS, f.Property, f.Observed = int64(float64(ttl)*min(1, float64(longTrial)/float64(ttl))), "mutual-exclusion", checker.Held
	if o.Name == "fenced" {
		f.Observed = checker.Violated
	}
	return f
}

// figured returns made-up measurements of a lock, such as its goodput and its recovery time. They are computed from the lock's
// entry in the variable measuredOf.
func figured(n selection.Needs, o selection.Option) []selection.Figure {
	m, ok := measuredOf[o.Name]
	if !ok {
		return nil
	}
	hold := min(n.Hold.P50, longestHold)
	together := bench.Point{ID: "together", Workload: "contend", Clients: 16, Keys: 1, HoldNS: int64(hold), Fault: "none", DurationNS: int64(time.Second)}
	apart := bench.Point{ID: "apart", Workload: "contend", Clients: 16, Keys: 16, Fault: "none"}
	goodput := 1 / (1/m[0] - 0.001 + hold.Seconds())
	figure := func(metric string, at bench.Point, v float64) selection.Figure {
		return selection.Figure{Source: "B1", Lock: o.Name, Deployment: o.Deployment, Metric: metric, Point: at, Estimate: estimateNear(v), Histories: []selection.History{}}
	}
	took := 1.0
	if o.Lease == selection.Connection {
		took = 0.02
	}
	recovery := figure(selection.RecoveryMetric, bench.Point{TTLNS: int64(800 * time.Millisecond), Clients: 3, Fault: "holder-kill"}, took)
	recovery.Source = "R1"
	return []selection.Figure{figure("goodput", together, goodput), figure("min_max_share", together, m[1]), figure("commands", together, m[2]),
		figure("longest_wait", together, min(1000, 16/goodput*1000/max(m[1], 0.01))), figure("uncontended_p50", apart, m[3]), recovery}
}

// estimateNear returns an estimate that is computed from eight values. Each value differs from v by at most 1 %.
func estimateNear(v float64) stats.Estimate {
	var values []float64
	var blocks []int
	for i := range 8 {
		values, blocks = append(values, v*(1+0.01*float64(i%3-1))), append(blocks, i)
	}
	slices.Sort(values)
	return stats.EstimateOf(values, blocks)
}
