package selection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/reports/bench"
	"lockbench/reports/run"
	"lockbench/reports/stats"

	"lockbench/internal/choose/decision"
)

// sample is a report with everything on it, as no decision has made it: what it says hangs together well enough to be read.
func sample() *decision.Report {
	r := &decision.Report{
		Version: decision.Version, Needs: sampleNeeds(), Options: sampleOptions(), Decision: sampleDecision(), Lease: sampleLease(),
		Requirements: []decision.Requirement{
			{Name: "exclusion", Title: "one at a time", Because: "two writers would corrupt the stock", Safety: true},
			{Name: "late-write", Title: "a late write is refused", Because: "a process may stand still for 14 s, longer than any lease that recovers in time", Safety: true},
			{Name: "restart", Title: "survives a restart", Because: "the store is restarted once a week", Safety: true},
			{Name: "failover", Title: "survives a failover", Because: "a replica takes over when the primary’s host is patched", Safety: true},
			{Name: "orphan", Title: "a dead holder’s lock frees itself", Because: "the next grant is to come within 15 s", Safety: true},
			{Name: "store", Title: "its store is there", Because: "nobody will run another store", Safety: false},
			{Name: "language", Title: "to be had in Go and Java", Because: "its users are written in Go and Java", Safety: false},
			{Name: "waiting", Title: "waits in line", Because: "40 clients want the busiest lock at once", Safety: false},
		},
		Criteria: []decision.Criterion{
			{Name: "goodput", Title: "goodput", Doc: "critical sections a second with 16 clients on one key", Metric: "goodput", Unit: "/s", Better: 1, Weight: .4},
			{Name: "handoff", Title: "hand-off p99", Doc: "from a release to the next grant, with somebody waiting", Metric: "handoff_p99", Unit: "ms", Better: -1, Weight: .3},
			{Name: "cost", Title: "commands", Doc: "of the store, for each grant", Metric: "commands", Unit: "", Better: -1, Weight: .2},
			{Name: "recovery", Title: "recovery", Doc: "from the death of a holder to the next grant, as a multiple of the lease", Metric: decision.RecoveryMetric, Unit: "leases", Better: -1, Weight: .1},
		},
	}
	r.Sources = sampleSources()
	r.Times = []decision.RecordedTime{{ID: "T1", Source: "B1", Lock: "fenced", What: "acquire", Where: "contended, 16 clients", N: 4120, Quantiles: []int64{1e6, 2e6, 31e5}, Histories: []decision.History{{File: "trials/fenced/history.jsonl.zst", SHA256: "9f86d081"}}}}
	sampleCells(r)
	return r
}

func sampleNeeds() decision.Needs {
	return decision.Needs{
		Name: "inventory", Guards: "the stock of a product in a flash sale", TwoHold: decision.Corruption, Instead: nil, Fence: decision.OnWrites,
		Hold:   decision.Times{P50: 20 * time.Millisecond, P99: 180 * time.Millisecond, Max: 2 * time.Second},
		Pauses: decision.Pauses{PerHour: 6, P50: 40 * time.Millisecond, P99: 900 * time.Millisecond, Longest: 14 * time.Second}, Recovery: 15 * time.Second,
		Clients: 40, Rate: 25, Wait: 2 * time.Second, Language: []string{"go", "java"}, Stores: []string{"redis", "postgres", "etcd"},
		Survives: []decision.Trouble{decision.Restart, decision.Failover}, Weights: map[string]float64{"goodput": 4, "handoff": 3, "cost": 2},
		Assumed: []string{"fair", "commands", "reenters", "pauses.p99", "wait"},
	}
}

func sampleOptions() []decision.Option {
	both := map[string]string{"any": "a few commands"}
	return []decision.Option{
		{Name: "idempotent", Kind: decision.NoLock, Doc: "The operation is made so that doing it twice changes nothing."},
		{Name: "compare-and-set", Kind: decision.NoLock, Doc: "A unique constraint or a version column lets one of two writers win."},
		{Name: "database-row", Kind: decision.NoLock, Doc: "All that is guarded is changed in one transaction that locks its row."},
		{Name: "setnx", Kind: decision.ALock, Doc: "SETNX, and DEL by whoever comes.", Store: "redis", Deployment: "single", Lease: decision.NoLease, Languages: both},
		{Name: "set-px-lua", Kind: decision.ALock, Doc: "SET NX PX with a random value, released by a script that compares it.", Store: "redis", Deployment: "single", Lease: decision.Fixed, Languages: both},
		{Name: "fenced", Kind: decision.ALock, Doc: "A script that counts a fencing token up with each grant, and wakes whoever waits.", Store: "redis", Deployment: "single", Lease: decision.Renewed, Fences: true, Reentrant: true, Languages: both},
		{Name: "redlock@five", Kind: decision.ALock, Doc: "A majority of five independent servers.", Store: "redis", Deployment: "five", Lease: decision.Fixed, Languages: both},
		{Name: "redsync", Kind: decision.ALock, Doc: "The library of that name.", Store: "redis", Deployment: "single", Lease: decision.Renewed, Peer: true, Languages: map[string]string{"go": "redsync"}},
		{Name: "postgres-advisory", Kind: decision.ALock, Doc: "A session’s advisory lock.", Store: "postgres", Deployment: "single", Lease: decision.Connection, Languages: both},
		{Name: "etcd", Kind: decision.ALock, Doc: "A key with a lease; the lowest revision holds.", Store: "etcd", Deployment: "single", Lease: decision.Renewed, Fences: true, Languages: both},
		{Name: "etcd-concurrency", Kind: decision.ALock, Doc: "The mutex of etcd’s own client.", Store: "etcd", Deployment: "single", Lease: decision.Connection, Peer: true, Fences: true, Languages: map[string]string{"go": "go.etcd.io/etcd/client/v3/concurrency", "java": "jetcd"}},
		{Name: "zookeeper", Kind: decision.ALock, Doc: "Ephemeral sequential nodes, each watching the one before it.", Store: "zookeeper", Deployment: "single", Lease: decision.Connection, Fences: true, Languages: both},
	}
}

// sampleAnswers are by option and requirement: y yes, n no, u unknown.
func sampleAnswers() map[string]string {
	return map[string]string{
		"idempotent": "nyyyyyyy", "compare-and-set": "nyyyyyyy", "database-row": "nyyyyyyy",
		"setnx": "nnynnyyn", "set-px-lua": "ynnnyyyn", "fenced": "yyyyyyyy", "redlock@five": "ynnuynyn", "redsync": "ynunyynn",
		"postgres-advisory": "ynyuyyyy", "etcd": "yyyyyyyy", "etcd-concurrency": "yyyyyyyy", "zookeeper": "yyyyynyy",
	}
}

func sampleCells(r *decision.Report) {
	answers := sampleAnswers()
	values := map[string][]float64{"fenced": {1840, 3.1, 4.2, 1.02}, "etcd": {310, 9.8, 3.1, 1.31}, "etcd-concurrency": {295, 11.2, 3.4, 1.34}}
	for _, o := range r.Options {
		for i, q := range r.Requirements {
			c := decision.Cell{Option: o.Name, Of: q.Name, Answer: map[byte]decision.Answer{'y': decision.Yes, 'n': decision.No, 'u': decision.DontKnow}[answers[o.Name][i]], Tag: decision.Documented}
			switch {
			case c.Answer == decision.DontKnow:
				c.Tag, c.Text = decision.Unknown, fmt.Sprintf("No run has %s under this fault, and its table leaves it open.", o.Name)
			case o.Kind == decision.NoLock && i == 0:
				c.Tag, c.Text = decision.Assumed, "The team did not say that it applies."
			case o.Kind == decision.NoLock:
				c.Tag, c.Text = decision.Assumed, "There is no lock that could fail in it."
			case q.Safety:
				c.Tag, c.Evidence = decision.Measured, []string{addFinding(r, o, q, c.Answer)}
				c.Text = fmt.Sprintf("No violation in 24 trials of 18,400 operations with 8 clients and a lease of 2 s, on Redis 7.4.1 (%s).", q.Title)
				if c.Answer == decision.No {
					c.Text = fmt.Sprintf("Violated in 9 of 24 trials with 8 clients and a lease of 2 s (%s): two held at once for 310 ms.", q.Title)
				}
			default:
				c.Text = "Its own table says so."
			}
			r.Cells = append(r.Cells, c)
		}
		for i, v := range values[o.Name] {
			low, high := v*.96, v*1.05
			k := r.Criteria[i]
			id := fmt.Sprintf("M%d", len(r.Figures)+1)
			r.Figures = append(r.Figures, decision.Figure{
				ID: id, Source: "B1", Dir: "trials/" + o.Name, Lock: o.Name, Deployment: o.Deployment, Metric: k.Metric, Unit: k.Unit,
				Point:     bench.Point{ID: "contend-16", Section: "contended", Clients: 16, Keys: 1, TTLNS: 2e9, Fault: "none"},
				Estimate:  stats.Estimate{Median: v, Low: &low, High: &high, Confidence: .96, N: 10, Values: []float64{low, v, high}},
				Histories: []decision.History{{File: fmt.Sprintf("trials/%s/history.jsonl.zst", o.Name), SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},
			})
			c := decision.Cell{Option: o.Name, Of: k.Name, Value: &v, Low: &low, High: &high, Tag: decision.Measured, Text: "The median of 10 trials with 16 clients on one key.", Evidence: []string{id}}
			if o.Name == "etcd-concurrency" && i == 3 {
				c.Tag, c.Low, c.High, c.Text = decision.Documented, nil, nil, "The lease of its session is the bound that its makers state."
			}
			r.Cells = append(r.Cells, c)
		}
	}
}

func addFinding(r *decision.Report, o decision.Option, q decision.Requirement, a decision.Answer) string {
	id := fmt.Sprintf("P%d", len(r.Findings)+1)
	f := decision.Finding{
		ID: id, Source: "R1", Dir: "cells/" + o.Name + "-" + q.Name, Lock: o.Name, Deployment: o.Deployment, Workload: "counter", Fault: "pause-holder",
		Property: "mutual-exclusion", Observed: checker.Held, Trials: 24, Operations: 18_400, Weight: "1,204 hand-offs, 96 faults", TTLNS: 2e9, Clients: 8,
		Histories: []decision.History{{File: "cells/" + o.Name + "/trial-1/history.jsonl.zst", SHA256: "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"}, {File: "", SHA256: "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"}},
	}
	if a == decision.No {
		f.Observed, f.ViolatedIn, f.Violations, f.Witness = checker.Violated, 9, 31, "c3 held k0 from 2.104 s on; c5 was granted it at 4.110 s, and both were inside for 310 ms."
	}
	r.Findings = append(r.Findings, f)
	return id
}

func sampleDecision() decision.Decision {
	low, high, low2, high2, at, value := .93, .99, .61, .68, .57, 402.0
	below := .12
	return decision.Decision{
		Outcome: decision.OneLock, Recommended: []string{"fenced"}, Lock: []string{"fenced"},
		Sentence: "fenced, on the Redis that is there, with a lease of 10 s: of 12 options it is one of three that do all that is required, and it is ahead of them by goodput, as long as stock writes check its fencing token.",
		For: []decision.Statement{
			{Text: "No violation of one at a time in 24 trials with 96 pauses of the holder.", Tag: decision.Measured, Evidence: []string{"P16", "P17"}},
			{Text: "A write that comes late is refused by the resource.", Tag: decision.Assumed, Evidence: nil},
		},
		Against: []decision.Statement{
			{Text: "It rests on one Redis: while that is down nobody is granted anything.", Tag: decision.Documented, Evidence: nil},
			{Text: "It was not seen under a jump of the server’s clock.", Tag: decision.Unknown, Evidence: nil},
			{Text: "Its hand-offs cost 4.2 commands each, against 3.1 of etcd.", Tag: decision.Measured, Evidence: []string{"M3", "M7"}},
		},
		Conditions: []decision.Statement{
			{Text: "Redis 7.4.1 with appendfsync always, 8 clients, a lease of 2 s, both on one machine.", Tag: decision.Measured, Evidence: []string{"R1", "B1"}},
			{Text: "The resource refuses a write with an older token.", Tag: decision.Assumed, Evidence: nil},
		},
		Again: []string{"Redis or the lock’s script changes", "a pause of more than 14 s is seen", "a store is added that several teams run"},
		Out: []decision.Knockout{
			{Option: "idempotent", Fails: []string{"exclusion"}, Unsure: nil, Text: "The team did not say that the operation can be done twice."},
			{Option: "compare-and-set", Fails: []string{"exclusion"}, Unsure: nil, Text: "The team did not say that a constraint or a version decides it."},
			{Option: "database-row", Fails: []string{"exclusion"}, Unsure: nil, Text: "The team did not say that one row has all that is guarded."},
			{Option: "setnx", Fails: []string{"exclusion", "late-write", "failover", "orphan", "waiting"}, Unsure: nil, Text: "One at a time was violated in 9 of 24 trials: whoever is late releases another’s lock."},
			{Option: "set-px-lua", Fails: []string{"late-write", "restart", "failover", "waiting"}, Unsure: nil, Text: "A late write is not refused: it gives no fencing token."},
			{Option: "redlock@five", Fails: []string{"late-write", "restart", "store"}, Unsure: []string{"failover"}, Text: "A late write is not refused: it gives no fencing token."},
			{Option: "redsync", Fails: []string{"late-write", "failover", "language", "waiting"}, Unsure: []string{"restart"}, Text: "A late write is not refused: it gives no fencing token."},
			{Option: "postgres-advisory", Fails: []string{"late-write"}, Unsure: []string{"failover"}, Text: "A late write is not refused: it gives no fencing token."},
			{Option: "zookeeper", Fails: []string{"store"}, Unsure: nil, Text: "No ZooKeeper is there."},
		},
		Survivors: []string{"fenced", "etcd", "etcd-concurrency"},
		Dominated: []decision.Dominated{{Option: "etcd-concurrency", By: "etcd", Text: "etcd is at least as good in all four, and its hand-offs are 1.14 times as fast, beyond the intervals."}},
		Scores: []decision.Score{
			{Option: "fenced", Rank: 1, Score: .96, Low: &low, High: &high, Parts: map[string]float64{"goodput": 1, "handoff": 1, "cost": .74, "recovery": 1}},
			{Option: "etcd", Rank: 2, Score: .64, Low: &low2, High: &high2, Parts: map[string]float64{"goodput": .17, "handoff": .32, "cost": 1, "recovery": .78}},
		},
		Weighings: 286, Wins: []decision.Win{{Option: "fenced", Times: 262, Share: 262.0 / 286}, {Option: "etcd", Times: 24, Share: 24.0 / 286}},
		Turns: []decision.Turn{
			{Of: "cost", Weight: &at, To: "etcd", Text: "etcd would be ahead if commands weighed over 0.57."},
			{Of: "goodput", Weight: &below, To: "etcd", Text: "etcd would be ahead if goodput weighed under 0.12 and commands took the rest."},
			{Of: "goodput", Option: "fenced", Value: &value, To: "etcd", Text: "etcd would be ahead if the goodput of fenced were under 402 /s, instead of 1,840 /s."},
		},
		Changes: []decision.Change{
			{Need: "if_two_hold", Value: "wasted-work", Outcome: decision.OneLock, Recommended: []string{"set-px-lua"}, Text: "A late write would cost nothing but time, so that no fencing token is required."},
			{Need: "instead", Value: "compare-and-set", Outcome: decision.NoLockNeeded, Recommended: []string{"compare-and-set"}, Text: "A version column would decide it without a lock."},
			{Need: "checks_fence", Value: "nothing", Outcome: decision.NothingFits, Recommended: nil, Text: "A holder may stand still for 14 s, and nothing would refuse what it writes then."},
			{Need: "stores", Value: "zookeeper as well", Outcome: decision.ATie, Recommended: []string{"fenced", "zookeeper"}, Text: "ZooKeeper’s lock would do all that is required, and cannot be told apart from fenced."},
		},
	}
}

func sampleLease() *decision.LeaseAdvice {
	l := &decision.LeaseAdvice{
		Option: "fenced", Lease: decision.Renewed, AdvisedNS: 10e9,
		Sentence: "It is the shortest lease with which less than one acquisition in a million is held twice, and the next grant after a death comes within 15 s.",
		Inputs: []decision.Statement{
			{Text: "Pauses: 6 an hour, p50 40 ms, p99 900 ms, the longest 14 s.", Tag: decision.Assumed, Evidence: nil},
			{Text: "Acquire times of fenced: the 4,120 of the bench, p99 3.1 ms.", Tag: decision.Measured, Evidence: []string{"T1"}},
		},
	}
	for _, ttl := range []float64{.1, .2, .5, 1, 2, 5, 10, 15, 20, 30, 60} {
		given := math.Exp(-1.6 * math.Pow(ttl, .72))
		l.Curve = append(l.Curve, decision.LeasePoint{TTLNS: int64(ttl * 1e9), Double: given * 4.2e-4, GivenPause: given, RecoveryMeanNS: int64(ttl * .83e9), RecoveryMaxNS: int64(ttl*1e9 + 4e7)})
	}
	for i, c := range []decision.Confirmed{{TTLNS: 500e6, Pauses: 400, Doubles: 151, Low: .33, High: .427}, {TTLNS: 2e9, Pauses: 400, Doubles: 29, Low: .049, High: .103}, {TTLNS: 1e9, Scale: .1, Pauses: 300, Doubles: 0, Low: 0, High: .0122}} {
		if c.Scale == 0 {
			c.Scale = 1
		}
		c.Predicted = math.Exp(-1.6 * math.Pow(float64(c.TTLNS)/c.Scale/1e9, .72))
		c.Agrees = i != 0
		c.Source, c.Text = "R1", fmt.Sprintf("Of %d pauses in a hold %d let another in.", c.Pauses, c.Doubles)
		c.Histories = []decision.History{{File: fmt.Sprintf("lease/%d/history.jsonl.zst", i+1), SHA256: "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7"}}
		l.Confirmed = append(l.Confirmed, c)
	}
	return l
}

func sampleSources() []decision.Source {
	e := run.Environment{
		OS: "linux", Arch: "amd64", CPU: "AMD EPYC 7B13", Cores: 4, Memory: 16 << 30, Kernel: "6.1.0", Go: "go1.26.8", Lockbench: "8095818a1b2c",
		Stores: []run.StoreDoc{{Name: "redis", Server: "Redis 7.4.1, a child process", Durability: "on disk (appendfsync always)"}, {Name: "etcd", Server: "etcd 3.6.5, a child process", Durability: "on disk of the one member"}},
	}
	return []decision.Source{
		{ID: "R1", Kind: "run", Dir: "../runs/inventory-run", Command: "lockbench run --locks all --workload counter --fault pause-holder --seed 7", Seed: 7, Started: "2026-11-20T09:12:44Z", Servers: "local", Environment: e},
		{ID: "B1", Kind: "bench", Dir: "../runs/inventory-bench", Command: "lockbench bench standard --locks fenced,etcd,etcd-concurrency --seed 11", Seed: 11, Started: "2026-11-20T10:02:10Z", Servers: "local", Environment: e, Notes: []string{"The host had a load of 1.4 when it began."}},
	}
}

// evil is a name that would like to be more than text.
const evil = "\"><script>alert(1)</script>|[x](y)\x1b[31m\u202e`*~"

// hostile is the same report, written by somebody who means harm: names that are markup, letters that turn the direction,
// words without end, ways out of the folder, and a password.
func hostile() *decision.Report {
	text, err := json.Marshal(sample())
	if err != nil {
		panic(err)
	}
	asJSON := func(s string) string {
		b, _ := json.Marshal(s) // a string is always JSON
		return string(b)
	}
	for _, swap := range [][2]string{
		{"fenced", evil}, {"etcd", "قفل שלום"}, {"redsync", strings.Repeat("Unbrechbar", 30)}, {"goodput", evil}, {"P11", `"><img src=x>`}, {"P12", "a b#c"},
		{"the stock of a product in a flash sale", `"quotes" & <b>'more'</b> {{.}} ` + strings.Repeat("x", 300)},
		{"../runs/inventory-run", "javascript:alert(1)"}, {"../runs/inventory-bench", "../../../a/../../../etc"}, {"cells/setnx-exclusion", "../../../etc/passwd"},
		{"local", "redis://u:s3cret@h:6379/0"}, {"The host had a load of 1.4 when it began.", "</script><script>alert(2)</script>\u2028 postgres://u:s3cret@h/db"},
		{"Its own table says so.", "<!-- --><svg onload=alert(3)> redis://u:s3cret@h"}, {"pauses.p99", "<i>"}, {"measured", "MEASURED"},
	} {
		text = bytes.ReplaceAll(text, []byte(asJSON(swap[0])), []byte(asJSON(swap[1])))
	}
	r := &decision.Report{}
	if err := json.Unmarshal(text, r); err != nil {
		panic(err)
	}
	r.Sources[0].Command = "lockbench run --redis redis://u:s3cret@h:6379 --lock " + evil
	return r
}

// turnedOut is the sample with another outcome.
func turnedOut(o decision.Outcome) *decision.Report {
	r := sample()
	d := &r.Decision
	d.Outcome = o
	switch o {
	case decision.ATie:
		d.Recommended, d.Lock = []string{"fenced", "etcd"}, []string{"fenced", "etcd"}
		d.Sentence = "fenced and etcd do all that is required, and the interval of the difference of their scores contains 0."
		low, high := .6, .97
		for i := range d.Scores {
			d.Scores[i].Rank, d.Scores[i].Low, d.Scores[i].High = 1, &low, &high
		}
	case decision.NoLockNeeded:
		r.Needs.Instead, d.Recommended = []decision.Means{decision.Compare}, []string{"compare-and-set"}
		d.Sentence = "A version column decides it where the data is, so that nothing has to be kept running for it."
		d.Survivors = append([]string{"compare-and-set"}, d.Survivors...)
		d.Out = slices.DeleteFunc(d.Out, func(k decision.Knockout) bool { return k.Option == "compare-and-set" })
		for i := range r.Cells {
			if r.Cells[i].Option == "compare-and-set" && r.Cells[i].Answer == decision.No {
				r.Cells[i].Answer, r.Cells[i].Text = decision.Yes, "The team says that a version column decides it."
			}
		}
	case decision.NothingFits:
		*d = decision.Decision{Outcome: o, Sentence: "No option does all that is required: no store that is there survives a failover.", Again: d.Again, Changes: d.Changes}
		for _, option := range r.Options {
			d.Out = append(d.Out, decision.Knockout{Option: option.Name, Unsure: []string{"failover"}, Text: "Whether it survives a failover is not known."})
		}
		for i := range r.Cells {
			if r.Cells[i].Of == "failover" {
				r.Cells[i] = decision.Cell{Option: r.Cells[i].Option, Of: "failover", Tag: decision.Unknown, Answer: decision.DontKnow, Text: "It was not seen."}
			}
		}
		r.Lease = nil
	}
	return r
}

// bare is a report of next to nothing.
func bare() *decision.Report {
	return &decision.Report{Version: decision.Version, Needs: decision.Needs{Name: "bare"}, Decision: decision.Decision{Outcome: decision.NothingFits, Sentence: "No option was given."}}
}

// odd is a report whose figures are at the ends of what they may be.
func odd() *decision.Report {
	r := sample()
	for i := range r.Cells {
		if v := r.Cells[i].Value; v != nil {
			*v = 0
			r.Cells[i].Low = nil
		}
	}
	for i := range r.Decision.Scores {
		r.Decision.Scores[i].Score, r.Decision.Scores[i].Low, r.Decision.Scores[i].High, r.Decision.Scores[i].Parts = 0, nil, nil, nil
	}
	r.Decision.Wins = []decision.Win{{Option: "fenced", Times: 286, Share: 1}}
	r.Needs.Recovery, r.Lease.AdvisedNS = 0, 0
	for i := range r.Lease.Curve {
		r.Lease.Curve[i] = decision.LeasePoint{TTLNS: r.Lease.Curve[i].TTLNS}
	}
	for i := range r.Lease.Confirmed {
		r.Lease.Confirmed[i] = decision.Confirmed{TTLNS: 1e9}
	}
	return r
}

// crowd is a report of many options, requirements and criteria, with names as long as they get.
func crowd() *decision.Report {
	r := sample()
	for i := range 6 {
		r.Requirements = append(r.Requirements, decision.Requirement{Name: fmt.Sprintf("more-%d", i), Title: "renews for its holder’s lifetime", Because: "holds last longer than a lease", Safety: i%2 == 0})
	}
	for i := range 4 {
		r.Criteria = append(r.Criteria, decision.Criterion{Name: fmt.Sprintf("figure-%d", i), Title: "longest wait in rounds", Doc: "how long the unluckiest waits", Metric: "wait_rounds", Unit: "ms", Better: -1, Weight: .05})
	}
	low, high := .3, .7
	for i := range 20 {
		name := fmt.Sprintf("postgres-advisory-of-many-%d@replica-set", i)
		r.Options = append(r.Options, decision.Option{Name: name, Kind: decision.ALock, Store: "postgres", Deployment: "replica-set", Doc: "One of many."})
		if i >= 10 {
			r.Decision.Out = append(r.Decision.Out, decision.Knockout{Option: name, Fails: []string{"late-write"}, Unsure: nil, Text: "A late write is not refused."})
			continue
		}
		r.Decision.Survivors = append(r.Decision.Survivors, name)
		r.Decision.Scores = append(r.Decision.Scores, decision.Score{Option: name, Rank: 3, Score: .5, Low: &low, High: &high, Parts: map[string]float64{"goodput": .5}})
		r.Decision.Wins = append(r.Decision.Wins, decision.Win{Option: name, Times: 1, Share: 1.0 / 286})
		at := .3 + .05*float64(i)
		r.Decision.Turns = append(r.Decision.Turns, decision.Turn{Of: fmt.Sprintf("figure-%d", i%4), Weight: &at, To: name, Text: name + " would be ahead."})
		for j, q := range r.Requirements {
			r.Cells = append(r.Cells, decision.Cell{Option: name, Of: q.Name, Answer: decision.Yes, Tag: []decision.Tag{decision.Measured, decision.Documented}[j%2], Text: "No violation in 24 trials."})
		}
		for _, k := range r.Criteria {
			v := 123.4 * float64(i+1)
			l, h := v*.9, v*1.1
			r.Cells = append(r.Cells, decision.Cell{Option: name, Of: k.Name, Value: &v, Low: &l, High: &h, Tag: decision.Measured, Text: "The median of 10 trials."})
		}
	}
	return r
}
