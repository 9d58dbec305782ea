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
)

// sample returns a handwritten report that contains every part. The parts may contradict each other.
func sample() *Report {
	r := &Report{
		Version: Version, Needs: sampleNeeds(), Options: sampleOptions(), Decision: sampleDecision(), Lease: sampleLease(),
		Requirements: []Requirement{
			{Name: "exclusion", Title: "one at a time", Need: "if_two_hold", Safety: true},
			{Name: "late-write", Title: "a late write is refused", Need: "if_two_hold", Safety: true},
			{Name: "restart", Title: "survives a restart", Need: "if_two_hold", Safety: true},
			{Name: "failover", Title: "survives a failover", Need: "if_two_hold", Safety: true},
			{Name: "orphan", Title: "a dead holder’s lock frees itself", Need: "if_two_hold", Safety: true},
			{Name: "store", Title: "its store is there", Need: "if_two_hold", Safety: false},
			{Name: "language", Title: "to be had in Go and Java", Need: "if_two_hold", Safety: false},
			{Name: "waiting", Title: "waits in line", Need: "if_two_hold", Safety: false},
		},
		Criteria: []Criterion{
			{Name: "goodput", Title: "goodput", Doc: "critical sections a second with 16 clients on one key", Metric: "goodput", Unit: "/s", Better: 1, Weight: .4},
			{Name: "handoff", Title: "hand-off p99", Doc: "from a release to the next grant, with a waiter", Metric: "handoff_p99", Unit: "ms", Better: -1, Weight: .3},
			{Name: "cost", Title: "commands", Doc: "of the store, for each grant", Metric: "commands", Unit: "", Better: -1, Weight: .2},
			{Name: "recovery", Title: "recovery", Doc: "from the death of a holder to the next grant, as a multiple of the lease", Metric: RecoveryMetric, Unit: "leases", Better: -1, Weight: .1},
		},
	}
	r.Sources = sampleSources()
	r.Times = []RecordedTime{{ID: "T1", Source: "B1", Lock: "fenced", What: "acquire", Where: "contended, 16 clients", N: 4120, Quantiles: []time.Duration{1e6, 2e6, 31e5}, Histories: []History{{File: "trials/fenced/history.jsonl.zst", SHA256: "9f86d081"}}}}
	sampleCells(r)
	return r
}

func sampleNeeds() Needs {
	return Needs{
		Name: "inventory", Guards: "the stock of a product in a flash sale", TwoHold: Corruption, Instead: nil, Fence: OnWrites,
		Hold:   Times{P50: 20 * time.Millisecond, P99: 180 * time.Millisecond, Max: 2 * time.Second},
		Pauses: Pauses{PerHour: 6, P50: 40 * time.Millisecond, P99: 900 * time.Millisecond, Longest: 14 * time.Second}, Recovery: 15 * time.Second,
		Clients: 40, Rate: 25, Wait: 2 * time.Second, Language: []string{"go", "java"}, Stores: []string{"redis", "postgres", "etcd"},
		Survives: []Trouble{Restart, Failover}, Weights: map[string]float64{"goodput": 4, "handoff": 3, "cost": 2},
		Assumed: []string{"fair", "commands", "reenters", "pauses.p99", "wait"},
	}
}

func sampleOptions() []Option {
	both := map[string]string{"any": "a few commands"}
	return []Option{
		{Name: "idempotent", Kind: NoLock, Doc: "The operation is made so that doing it twice changes nothing."},
		{Name: "compare-and-set", Kind: NoLock, Doc: "A unique constraint or a version column lets one of two writers win."},
		{Name: "database-row", Kind: NoLock, Doc: "All that is guarded is changed in one transaction that locks its row."},
		{Name: "setnx", Kind: ALock, Doc: "SETNX, and DEL by any client.", Store: "redis", Deployment: "single", Lease: NoLease, Languages: both},
		{Name: "set-px-lua", Kind: ALock, Doc: "SET NX PX with a random value, released by a script that compares it.", Store: "redis", Deployment: "single", Lease: Fixed, Languages: both},
		{Name: "fenced", Kind: ALock, Doc: "A script that counts a fencing token up with each grant, and notifies waiters.", Store: "redis", Deployment: "single", Lease: Renewed, Fences: true, Reentrant: true, Languages: both},
		{Name: "redlock@five", Kind: ALock, Doc: "A majority of five independent servers.", Store: "redis", Deployment: "five", Lease: Fixed, Languages: both},
		{Name: "redsync", Kind: ALock, Doc: "The library of that name.", Store: "redis", Deployment: "single", Lease: Renewed, Languages: map[string]string{"go": "redsync"}},
		{Name: "postgres-advisory", Kind: ALock, Doc: "A session’s advisory lock.", Store: "postgres", Deployment: "single", Lease: Connection, Languages: both},
		{Name: "etcd", Kind: ALock, Doc: "A key with a lease; the lowest revision holds.", Store: "etcd", Deployment: "single", Lease: Renewed, Fences: true, Languages: both},
		{Name: "etcd-concurrency", Kind: ALock, Doc: "The mutex of etcd’s own client.", Store: "etcd", Deployment: "single", Lease: Connection, Fences: true, Languages: map[string]string{"go": "go.etcd.io/etcd/client/v3/concurrency", "java": "jetcd"}},
		{Name: "zookeeper", Kind: ALock, Doc: "Ephemeral sequential nodes, each watching the one before it.", Store: "zookeeper", Deployment: "single", Lease: Connection, Fences: true, Languages: both},
	}
}

// sampleAnswers returns the answers of each candidate, one letter per requirement: y yes, n no, u unknown.
func sampleAnswers() map[string]string {
	return map[string]string{
		"idempotent": "nyyyyyyy", "compare-and-set": "nyyyyyyy", "database-row": "nyyyyyyy",
		"setnx": "nnynnyyn", "set-px-lua": "ynnnyyyn", "fenced": "yyyyyyyy", "redlock@five": "ynnuynyn", "redsync": "ynunyynn",
		"postgres-advisory": "ynyuyyyy", "etcd": "yyyyyyyy", "etcd-concurrency": "yyyyyyyy", "zookeeper": "yyyyynyy",
	}
}

func sampleCells(r *Report) {
	answers := sampleAnswers()
	values := map[string][]float64{"fenced": {1840, 3.1, 4.2, 1.02}, "etcd": {310, 9.8, 3.1, 1.31}, "etcd-concurrency": {295, 11.2, 3.4, 1.34}}
	for _, o := range r.Options {
		for i, q := range r.Requirements {
			c := Cell{Option: o.Name, Of: q.Name, Answer: map[byte]Answer{'y': Yes, 'n': No, 'u': DontKnow}[answers[o.Name][i]], Tag: Documented}
			switch {
			case c.Answer == DontKnow:
				c.Tag, c.Reason, c.Detail = Unknown, NotTried, "failover"
			case o.Kind == NoLock && i == 0:
				c.Tag, c.Reason = Assumed, DoesNotApply
			case o.Kind == NoLock:
				c.Tag, c.Reason = Assumed, NothingHeld
			case q.Safety:
				c.Tag, c.Reason, c.Evidence = Measured, Held, []string{addFinding(r, o, q, c.Answer)}
				if c.Answer == No {
					c.Reason = Violated
				}
			case c.Answer == Yes:
				c.Reason, c.Detail = AvailableAs, "three scripts"
			default:
				c.Reason, c.Detail = NoClient, "java"
			}
			r.Cells = append(r.Cells, c)
		}
		for i, v := range values[o.Name] {
			low, high := v*.96, v*1.05
			k := r.Criteria[i]
			id := fmt.Sprintf("M%d", len(r.Figures)+1)
			r.Figures = append(r.Figures, Figure{
				ID: id, Source: "B1", Dir: "trials/" + o.Name, Lock: o.Name, Deployment: o.Deployment, Metric: k.Metric, Unit: k.Unit,
				Point:     bench.Point{ID: "contend-16", Section: "contended", Clients: 16, Keys: 1, TTLNS: 2e9, Fault: "none"},
				Estimate:  stats.Estimate{Median: v, Low: &low, High: &high, Confidence: .96, N: 10, Values: []float64{low, v, high}},
				Histories: []History{{File: fmt.Sprintf("trials/%s/history.jsonl.zst", o.Name), SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},
			})
			c := Cell{Option: o.Name, Of: k.Name, Value: &v, Low: &low, High: &high, Tag: Measured, Reason: MedianOfTrials, Evidence: []string{id}}
			if o.Name == "etcd-concurrency" && i == 3 {
				c.Tag, c.Low, c.High = Documented, nil, nil
			}
			r.Cells = append(r.Cells, c)
		}
	}
}

func addFinding(r *Report, o Option, q Requirement, a Answer) string {
	id := fmt.Sprintf("P%d", len(r.Findings)+1)
	f := Finding{
		ID: id, Source: "R1", Dir: "cells/" + o.Name + "-" + q.Name, Lock: o.Name, Deployment: o.Deployment, Workload: "counter", Fault: "pause-holder",
		Property: "mutual-exclusion", Observed: checker.Held, Trials: 24, Operations: 18_400, Evidence: "1,204 hand-offs, 96 faults", TTLNS: 2e9, Clients: 8,
		Histories: []History{{File: "cells/" + o.Name + "/trial-1/history.jsonl.zst", SHA256: "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"}, {File: "", SHA256: "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"}},
	}
	if a == No {
		f.Observed, f.ViolatedIn, f.Violations, f.Example = checker.Violated, 9, 31, "c3 held k0 from 2.104 s on; c5 was granted it at 4.110 s, two clients held the lock at once for 310 ms."
	}
	r.Findings = append(r.Findings, f)
	return id
}

func sampleDecision() Decision {
	low, high, low2, high2, at, value := .93, .99, .61, .68, .57, 402.0
	below, part := .12, .74
	return Decision{
		Outcome: OneLock, Recommended: []string{"fenced"}, Lock: []string{"fenced"},
		Against: []Cell{
			{Option: "fenced", Of: "mutual-exclusion", Reason: ExpectedViolation, Tag: Documented, Expectation: &Expectation{Property: "mutual-exclusion", Fault: "clock-forward", Because: "the server's clock ends the lease"}},
			{Option: "fenced", Of: "recovery", Reason: NotMeasured, Tag: Unknown},
			{Option: "fenced", Of: "cost", Reason: NotBest, Tag: Measured, Value: &part, Evidence: []string{"M3"}},
		},
		Eliminated: []Elimination{
			{Option: "idempotent", Fails: []string{"exclusion"}, Unknown: nil, Reason: "exclusion"},
			{Option: "compare-and-set", Fails: []string{"exclusion"}, Unknown: nil, Reason: "exclusion"},
			{Option: "database-row", Fails: []string{"exclusion"}, Unknown: nil, Reason: "exclusion"},
			{Option: "setnx", Fails: []string{"exclusion", "late-write", "failover", "orphan", "waiting"}, Unknown: nil, Reason: "exclusion"},
			{Option: "set-px-lua", Fails: []string{"late-write", "restart", "failover", "waiting"}, Unknown: nil, Reason: "late-write"},
			{Option: "redlock@five", Fails: []string{"late-write", "restart", "store"}, Unknown: []string{"failover"}, Reason: "late-write"},
			{Option: "redsync", Fails: []string{"late-write", "failover", "language", "waiting"}, Unknown: []string{"restart"}, Reason: "late-write"},
			{Option: "postgres-advisory", Fails: []string{"late-write"}, Unknown: []string{"failover"}, Reason: "late-write"},
			{Option: "zookeeper", Fails: []string{"store"}, Unknown: nil, Reason: "store"},
		},
		Survivors: []string{"fenced", "etcd", "etcd-concurrency"},
		Dominated: []Dominated{{Option: "etcd-concurrency", By: "etcd", In: "handoff"}},
		Scores: []Score{
			{Option: "fenced", Rank: 1, Score: .96, Low: &low, High: &high, Parts: map[string]float64{"goodput": 1, "handoff": 1, "cost": .74, "recovery": 1}},
			{Option: "etcd", Rank: 2, Score: .64, Low: &low2, High: &high2, Parts: map[string]float64{"goodput": .17, "handoff": .32, "cost": 1, "recovery": .78}},
		},
		Weightings: 286, Wins: []Win{{Option: "fenced", Times: 262, Share: 262.0 / 286}, {Option: "etcd", Times: 24, Share: 24.0 / 286}},
		Turns: []Turn{
			{Of: "cost", Weight: &at, To: "etcd"},
			{Of: "goodput", Weight: &below, To: "etcd"},
			{Of: "goodput", Option: "fenced", Value: &value, To: "etcd"},
		},
		Changes: []Change{
			{Need: "if_two_hold", Value: "wasted-work", Outcome: OneLock, Recommended: []string{"set-px-lua"}},
			{Need: "instead", Value: "compare-and-set", Outcome: NoLockNeeded, Recommended: []string{"compare-and-set"}},
			{Need: "checks_fence", Value: "nothing", Outcome: NothingFits, Recommended: nil},
			{Need: "stores", Value: "zookeeper as well", Outcome: ATie, Recommended: []string{"fenced", "zookeeper"}},
		},
	}
}

func sampleLease() *LeaseAdvice {
	l := &LeaseAdvice{
		Option: "fenced", Lease: Renewed, AdvisedNS: 10e9,
		NeededNS: 9.5e9,
		Inputs: []LeaseInput{
			{Name: "pauses", Tag: Assumed, Times: Times{P50: 40 * time.Millisecond, P99: 900 * time.Millisecond, Max: 14 * time.Second}},
			{Name: "acquire", Tag: Measured, Times: Times{P50: time.Millisecond, P99: 3 * time.Millisecond, Max: 3 * time.Millisecond}, N: 4120, Where: "of fenced", Evidence: []string{"T1"}},
			{Name: "hand-off", Tag: Unknown},
		},
	}
	for _, ttl := range []float64{.1, .2, .5, 1, 2, 5, 10, 15, 20, 30, 60} {
		given := math.Exp(-1.6 * math.Pow(ttl, .72))
		l.Curve = append(l.Curve, LeasePoint{TTLNS: int64(ttl * 1e9), Overlap: given * 4.2e-4, GivenPause: given, RecoveryMeanNS: int64(ttl * .83e9), RecoveryMaxNS: int64(ttl*1e9 + 4e7)})
	}
	for i, c := range []Confirmed{{TTLNS: 500e6, Pauses: 400, Overlaps: 151, Low: .33, High: .427}, {TTLNS: 2e9, Pauses: 400, Overlaps: 29, Low: .049, High: .103}, {TTLNS: 1e9, Scale: .1, Pauses: 300, Overlaps: 0, Low: 0, High: .0122}} {
		if c.Scale == 0 {
			c.Scale = 1
		}
		c.Predicted = math.Exp(-1.6 * math.Pow(float64(c.TTLNS)/c.Scale/1e9, .72))
		c.Agrees = i != 0
		c.Source = "R1"
		c.Histories = []History{{File: fmt.Sprintf("lease/%d/history.jsonl.zst", i+1), SHA256: "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7"}}
		l.Confirmed = append(l.Confirmed, c)
	}
	return l
}

func sampleSources() []Source {
	e := run.Environment{
		OS: "linux", Arch: "amd64", CPU: "AMD EPYC 7B13", Cores: 4, Memory: 16 << 30, Kernel: "6.1.0", Go: "go1.26.8", Lockbench: "8095818a1b2c",
		Stores: []run.StoreDoc{{Name: "redis", Server: "Redis 7.4.1, a child process", Durability: "on disk (appendfsync always)"}, {Name: "etcd", Server: "etcd 3.6.5, a child process", Durability: "on disk of the one member"}},
	}
	return []Source{
		{ID: "R1", Kind: "run", Dir: "../runs/inventory-run", Command: "lockbench run --locks all --workload counter --fault pause-holder --seed 7", Seed: 7, Started: "2026-11-20T09:12:44Z", Servers: "local", Environment: e},
		{ID: "B1", Kind: "bench", Dir: "../runs/inventory-bench", Command: "lockbench bench standard --locks fenced,etcd,etcd-concurrency --seed 11", Seed: 11, Started: "2026-11-20T10:02:10Z", Servers: "local", Environment: e, Notes: []string{"The host had a load of 1.4 when it began."}},
	}
}

// evil is a name with markup, control characters and an escape sequence.
const evil = "\"><script>alert(1)</script>|[x](y)\x1b[31m\u202e`*~"

// hostile returns the sample with dangerous texts: markup, bidirectional controls, very long words, paths out of the folder,
// and passwords.
func hostile() *Report {
	text, err := json.Marshal(sample())
	if err != nil {
		panic(err)
	}
	asJSON := func(s string) string {
		b, _ := json.Marshal(s) // encoding a string as JSON cannot fail
		return string(b)
	}
	for _, swap := range [][2]string{
		{"fenced", evil}, {"etcd", "قفل שלום"}, {"redsync", strings.Repeat("Unbrechbar", 30)}, {"goodput", evil}, {"P11", `"><img src=x>`}, {"P12", "a b#c"},
		{"the stock of a product in a flash sale", `"quotes" & <b>'more'</b> {{.}} ` + strings.Repeat("x", 300)},
		{"../runs/inventory-run", "javascript:alert(1)"}, {"../runs/inventory-bench", "../../../a/../../../etc"}, {"cells/setnx-exclusion", "../../../etc/passwd"},
		{"local", "redis://u:s3cret@h:6379/0"}, {"The host had a load of 1.4 when it began.", "</script><script>alert(2)</script>\u2028 postgres://u:s3cret@h/db"},
		{"three scripts", "<!-- --><svg onload=alert(3)> redis://u:s3cret@h"}, {"pauses.p99", "<i>"}, {"measured", "MEASURED"},
	} {
		text = bytes.ReplaceAll(text, []byte(asJSON(swap[0])), []byte(asJSON(swap[1])))
	}
	r := &Report{}
	if err := json.Unmarshal(text, r); err != nil {
		panic(err)
	}
	r.Sources[0].Command = "lockbench run --redis redis://u:s3cret@h:6379 --lock " + evil
	return r
}

// turnedOut returns the sample report, changed so that its decision has the given outcome.
func turnedOut(o Outcome) *Report {
	r := sample()
	d := &r.Decision
	d.Outcome = o
	switch o {
	case ATie:
		d.Recommended, d.Lock = []string{"fenced", "etcd"}, []string{"fenced", "etcd"}
		low, high := .6, .97
		for i := range d.Scores {
			d.Scores[i].Rank, d.Scores[i].Low, d.Scores[i].High = 1, &low, &high
		}
	case NoLockNeeded:
		r.Needs.Instead, d.Recommended = []Means{Compare}, []string{"compare-and-set"}
		d.Survivors = append([]string{"compare-and-set"}, d.Survivors...)
		d.Eliminated = slices.DeleteFunc(d.Eliminated, func(k Elimination) bool { return k.Option == "compare-and-set" })
		for i := range r.Cells {
			if r.Cells[i].Option == "compare-and-set" && r.Cells[i].Answer == No {
				r.Cells[i].Answer, r.Cells[i].Reason = Yes, Applies
			}
		}
	case NothingFits:
		*d = Decision{Outcome: o, Changes: d.Changes}
		for _, option := range r.Options {
			d.Eliminated = append(d.Eliminated, Elimination{Option: option.Name, Unknown: []string{"failover"}, Reason: "failover"})
		}
		for i := range r.Cells {
			if r.Cells[i].Of == "failover" {
				r.Cells[i] = Cell{Option: r.Cells[i].Option, Of: "failover", Tag: Unknown, Answer: DontKnow, Reason: NotTried, Detail: "failover"}
			}
		}
		r.Lease = nil
	}
	return r
}

// bare returns a nearly empty report.
func bare() *Report {
	return &Report{Version: Version, Needs: Needs{Name: "bare"}, Decision: Decision{Outcome: NothingFits}}
}

// odd returns the sample report with extreme values, such as 0, and without any intervals.
func odd() *Report {
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
	r.Decision.Wins = []Win{{Option: "fenced", Times: 286, Share: 1}}
	r.Needs.Recovery, r.Lease.AdvisedNS = 0, 0
	for i := range r.Lease.Curve {
		r.Lease.Curve[i] = LeasePoint{TTLNS: r.Lease.Curve[i].TTLNS}
	}
	for i := range r.Lease.Confirmed {
		r.Lease.Confirmed[i] = Confirmed{TTLNS: 1e9}
	}
	return r
}

// crowd returns a report with many candidates, requirements and criteria, and long names.
func crowd() *Report {
	r := sample()
	for i := range 6 {
		r.Requirements = append(r.Requirements, Requirement{Name: fmt.Sprintf("more-%d", i), Title: "renews for its holder’s lifetime", Need: "if_two_hold", Safety: i%2 == 0})
	}
	for i := range 4 {
		r.Criteria = append(r.Criteria, Criterion{Name: fmt.Sprintf("figure-%d", i), Title: "longest wait in rounds", Doc: "how long the unluckiest waits", Metric: "wait_rounds", Unit: "ms", Better: -1, Weight: .05})
	}
	low, high := .3, .7
	for i := range 20 {
		name := fmt.Sprintf("postgres-advisory-of-many-%d@replica-set", i)
		r.Options = append(r.Options, Option{Name: name, Kind: ALock, Store: "postgres", Deployment: "replica-set", Doc: "One of many."})
		if i >= 10 {
			r.Decision.Eliminated = append(r.Decision.Eliminated, Elimination{Option: name, Fails: []string{"late-write"}, Reason: "late-write"})
			continue
		}
		r.Decision.Survivors = append(r.Decision.Survivors, name)
		r.Decision.Scores = append(r.Decision.Scores, Score{Option: name, Rank: 3, Score: .5, Low: &low, High: &high, Parts: map[string]float64{"goodput": .5}})
		r.Decision.Wins = append(r.Decision.Wins, Win{Option: name, Times: 1, Share: 1.0 / 286})
		at := .3 + .05*float64(i)
		r.Decision.Turns = append(r.Decision.Turns, Turn{Of: fmt.Sprintf("figure-%d", i%4), Weight: &at, To: name})
		for j, q := range r.Requirements {
			r.Cells = append(r.Cells, Cell{Option: name, Of: q.Name, Answer: Yes, Tag: []Tag{Measured, Documented}[j%2], Reason: Held})
		}
		for _, k := range r.Criteria {
			v := 123.4 * float64(i+1)
			l, h := v*.9, v*1.1
			r.Cells = append(r.Cells, Cell{Option: name, Of: k.Name, Value: &v, Low: &l, High: &h, Tag: Measured, Reason: MedianOfTrials})
		}
	}
	return r
}
