package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/histories"
)

const (
	ms = time.Millisecond
	us = time.Microsecond
)

// trialFiles holds the content of the files of one trial.
type trialFiles struct {
	header    histories.Header
	ops       []histories.Op
	verdict   *checker.Verdict
	counters  string
	discarded string
	torn      bool // whether the history file is cut off within a line
}

func writeTrial(t *testing.T, dir string, f trialFiles) {
	t.Helper()
	var b bytes.Buffer
	f.header.Version = histories.Version
	b.Write(marshal(t, f.header))
	b.WriteByte('\n')
	for _, op := range f.ops {
		b.Write(append(histories.AppendOp(nil, &op), '\n'))
	}
	if f.torn {
		b.WriteString(`{"client":1,"kind":"acq`)
	}
	put(t, filepath.Join(dir, HistoryName), b.Bytes())
	if f.verdict != nil {
		put(t, filepath.Join(dir, VerdictName), marshal(t, f.verdict))
	}
	if f.counters != "" {
		put(t, filepath.Join(dir, countersName), []byte(f.counters))
	}
	if f.discarded != "" {
		put(t, filepath.Join(dir, DiscardedName), marshal(t, map[string]string{"reason": f.discarded}))
	}
}

func put(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// driven holds the parameters of a generated history.
type driven struct {
	seed      uint64
	clients   int
	sections  int
	trip      time.Duration // approximate round-trip time between client and store
	hold      time.Duration
	exclusive bool
	ttl       time.Duration
}

// drive returns a generated history in which clients acquire and release one key. Holds can overlap unless d.exclusive is set.
func drive(d driven) []histories.Op {
	rng := rand.New(rand.NewPCG(d.seed, 7))
	about := func(mean time.Duration) time.Duration {
		return mean/2 + time.Duration(rng.ExpFloat64()*float64(mean)/2)
	}
	next := make([]time.Duration, d.clients)
	for c := range next {
		next[c] = ms + about(ms)
	}
	var free time.Duration
	var ops []histories.Op
	for n := range d.sections {
		c := 0
		for i := range next {
			if next[i] < next[c] {
				c = i
			}
		}
		due := next[c]
		got := due + about(d.trip)
		if d.exclusive && got < free {
			got = free + about(d.trip)
		}
		release := got + about(d.hold)
		free = release + about(d.trip)/2
		base := histories.Op{Client: int32(c), Hold: int64(n + 1), Key: "k"}
		a, r := base, base
		a.Kind, a.Outcome, a.Due, a.Call, a.Return, a.Validity = histories.Acquire, histories.OK, due, due+time.Duration(c)*us/10, got, d.ttl
		r.Kind, r.Outcome, r.Due, r.Call, r.Return = histories.Release, histories.OK, release, release, free
		ops = append(ops, a, r)
		next[c] = free + about(d.hold*time.Duration(d.clients))
	}
	slices.SortStableFunc(ops, func(a, b histories.Op) int { return cmp.Compare(a.Return, b.Return) })
	return ops
}

// sampleLock describes a lock of the sample run.
type sampleLock struct {
	name, doc string
	trip      time.Duration
	exclusive bool
	sections  int
	commands  float64
}

func sampleLocks() []sampleLock {
	return []sampleLock{
		{"none", "No lock at all: every acquire is granted at once.", 2 * us, false, 5000, 0},
		{"set-px", "SET NX PX to take it, DEL to free it, without comparing the owner.", 180 * us, true, 14000, 2.4},
		{"set-px-lua", "SET NX PX, and a script that frees it only for its owner.", 210 * us, true, 13000, 3.1},
		{"redisson", "A hash with a count, a watchdog, and a message on release.", 420 * us, true, 3000, 5.25},
		{"fenced", "As set-px-lua, with a token that rises with each grant.", 230 * us, true, 1500, 3.6},
	}
}

// writeSample writes the run folder that the golden files describe.
func writeSample(t *testing.T, dir string) {
	t.Helper()
	m := sampleManifest()
	for i, l := range sampleLocks() {
		m.Locks = append(m.Locks, LockDoc{Name: l.name, Doc: l.doc})
		for _, fault := range []string{"none", "holder-stall"} {
			c := Cell{Dir: l.name + "/counter+" + fault, Lock: l.name, Deployment: "single", Workload: "counter", Fault: fault}
			m.Plan = append(m.Plan, c)
			if l.name == "fenced" && fault != "none" {
				continue // leave out these trials, because the run was interrupted
			}
			for n := range 2 {
				writeTrial(t, filepath.Join(dir, c.Dir, fmt.Sprintf("%03d", n+1)), sampleTrial(l, c, uint64(10*i+n)))
			}
		}
	}
	writeTrial(t, filepath.Join(dir, "set-px-lua/counter+holder-stall/003"), trialFiles{discarded: "the stall did not reach its client"})
	writeTrial(t, filepath.Join(dir, "redisson/counter+none/003"), trialFiles{torn: true})
	if err := WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
}

func sampleManifest() Manifest {
	at := time.Date(2026, 11, 20, 16, 4, 5, 0, time.UTC)
	return Manifest{
		Name: "quick", Started: at, Ended: at.Add(93 * time.Second), Interrupted: true, Seed: 7, Servers: Local,
		Command: "lockbench run --locks none,set-px,set-px-lua,redisson,fenced --workloads counter --faults none,holder-stall --seed 7",
		Environment: Environment{
			OS: "linux", Arch: "amd64", CPU: "Example CPU @ 2.40GHz", Cores: 2, Memory: 8 << 30, Kernel: "6.1.0",
			Go: "go1.26.0", Lockbench: "0123456789ab", Load: []float64{0.25, 0.5, 0.75}, Server: "redis 7.0.15 (local)",
		},
		Parameters: []Parameter{{"ttl", "250ms", "the lease each client asks for"}, {"clients", "6", ""}},
		Notes:      []string{"Clients of one process share its connection pool."},
	}
}

func sampleTrial(l sampleLock, c Cell, seed uint64) trialFiles {
	d := driven{seed: seed, clients: 6, sections: l.sections / 2, trip: l.trip, hold: 900 * us, exclusive: l.exclusive, ttl: 250 * ms}
	if c.Fault != "none" {
		d.sections /= 4
	}
	h := histories.Header{
		Lock: c.Lock, Deployment: c.Deployment, Workload: c.Workload, Fault: c.Fault, Clients: d.clients, Processes: 2, Simulated: true,
		Seed: seed, TTL: histories.Nanos(d.ttl), Started: time.Date(2026, 11, 20, 16, 4, 6, 0, time.UTC), Expectations: sampleExpectations(l, c),
	}
	f := trialFiles{header: h, ops: drive(d), verdict: sampleVerdict(l, c, d.sections)}
	switch {
	case l.name == "redisson":
		f.counters = fmt.Sprintf(`{"server":"redis 7.0.15 (local)","before":null,"after":null,"network":{"commands":%d,"round_trips":%d,"sent":%d,"received":%d}}`,
			4*d.sections, 3*d.sections, 512*d.sections, 96*d.sections)
	case l.commands > 0:
		f.counters = fmt.Sprintf(`{"server":"redis 7.0.15 (local)","before":{"calls.set":5,"calls.ping":1},"after":{"calls.set":%d,"calls.ping":900}}`,
			5+int(l.commands*float64(d.sections)))
	default:
		f.counters = `{"server":"redis 7.0.15 (local)","before":null,"after":null,"network":null}`
	}
	return f
}

func sampleExpectations(l sampleLock, c Cell) []histories.Expectation {
	expect := func(property string, e histories.Expected, because string) histories.Expectation {
		return histories.Expectation{Property: property, Expected: e, Because: because}
	}
	switch {
	case l.name == "none":
		return []histories.Expectation{
			expect("lease-exclusion", histories.ToBeViolated, "nothing is locked"),
			expect("mutual-exclusion", histories.ToBeViolated, "nothing is locked"),
			expect("resource-integrity", histories.ToBeViolated, "two clients read the same count"),
		}
	case c.Fault != "none" && l.name == "set-px":
		return []histories.Expectation{
			expect("lease-exclusion", histories.ToHold, "the server alone grants it"),
			expect("owner-release", histories.ToHold, "no client outlives its lease"),
			expect("fencing", histories.ToHold, "it gives no tokens"),
		}
	case c.Fault != "none":
		return []histories.Expectation{
			expect("lease-exclusion", histories.ToHold, "the server alone grants it"),
			expect("mutual-exclusion", histories.ToBeViolated, "no lease survives a pause longer than itself"),
			expect("owner-release", histories.ToHold, "the script compares the owner"),
			expect("recovery", histories.ToHold, "the lease runs out"),
		}
	}
	return []histories.Expectation{
		expect("lease-exclusion", histories.ToHold, "the server alone grants it"),
		expect("mutual-exclusion", histories.ToHold, "no hold outlives its lease"),
		expect("resource-integrity", histories.ToHold, "every write is within a hold"),
		expect("owner-release", histories.ToHold, "the owner is compared"),
	}
}

func sampleVerdict(l sampleLock, c Cell, sections int) *checker.Verdict {
	v := &checker.Verdict{
		Until: 10 * time.Second, Slack: 4500 * us, Bound: 750 * ms,
		Counts: checker.Counts{Operations: 2 * sections, Grants: sections, HandOffs: sections / 3},
	}
	if c.Fault != "none" {
		v.Counts.Expiries, v.Counts.Takeovers, v.Counts.Faults = 7, 7, 8
		v.Faults = []checker.Band{
			{Name: "holder-stall", Client: 0, From: 120 * ms, To: 720 * ms, Effective: true},
			{Name: "slow-network", Client: histories.Harness, From: 300 * ms, To: 460 * ms, Effective: true},
			{Name: "partition", Client: 3, From: 470 * ms, To: histories.StillOpen},
			{Name: "holder-stall", Client: 5, From: 900 * ms, To: 950 * ms, Effective: true},
		}
		if l.name == "redisson" {
			for i := range 20 {
				v.Recoveries = append(v.Recoveries, 255*ms+time.Duration(i*i)*ms/2)
			}
		}
	}
	add := func(property string, o checker.Observed, words string, w *checker.Witness) {
		f := checker.Finding{Property: property, Observed: o, Evidence: words, Witness: w}
		switch o {
		case checker.Violated:
			f.Violations = 12
		case checker.Undecided, checker.NotApplicable:
			f.Why, f.Evidence = words, ""
		}
		v.Findings = append(v.Findings, f)
	}
	exclusion := "all pairs of holds on 1 key"
	switch {
	case l.name == "none":
		add("lease-exclusion", checker.Violated, exclusion, doubleGrant())
		add("mutual-exclusion", checker.Violated, exclusion, doubleGrant())
		add("resource-integrity", checker.Violated, "", lostUpdate())
		add("owner-release", checker.NotApplicable, "nothing has an owner", nil)
	case c.Fault != "none" && l.name == "set-px":
		add("lease-exclusion", checker.Held, exclusion, nil)
		add("mutual-exclusion", checker.Violated, exclusion, stalled())
		add("owner-release", checker.Violated, "", stalled())
		add("fencing", checker.NotApplicable, "no grant carries a token", nil)
	case c.Fault != "none":
		add("lease-exclusion", checker.Held, exclusion, nil)
		add("mutual-exclusion", checker.Violated, exclusion, stalled())
		add("owner-release", checker.Held, "7 releases after a takeover, all refused", nil)
		add("recovery", checker.Undecided, "no client tried for the whole bound after the stall", nil)
	default:
		add("lease-exclusion", checker.Held, exclusion, nil)
		add("mutual-exclusion", checker.Held, exclusion, nil)
		add("resource-integrity", checker.Held, "every write is based on the one before", nil)
		add("owner-release", checker.Held, "every release was its owner's", nil)
		add("progress", checker.Held, "the longest wait was 12 ms", nil)
		add("fencing", checker.NotApplicable, "no grant carries a token", nil)
	}
	return v
}

func doubleGrant() *checker.Witness {
	return &checker.Witness{
		Sentence: "Client 2 held k from 4.1 ms; client 4 was granted it at 6.3 ms. Two clients held it at once for 2.6 ms.",
		Key:      "k", From: 6300 * us, To: 8900 * us,
		Ops: []histories.Op{
			{Client: 2, Hold: 11, Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Due: 4 * ms, Call: 4 * ms, Return: 4100 * us, Validity: histories.Unbounded},
			{Client: 4, Hold: 12, Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Due: 6200 * us, Call: 6200 * us, Return: 6300 * us, Validity: histories.Unbounded},
			{Client: 2, Hold: 11, Kind: histories.Release, Outcome: histories.OK, Key: "k", Due: 8900 * us, Call: 8900 * us, Return: 9 * ms},
			{Client: 4, Hold: 12, Kind: histories.Release, Outcome: histories.OK, Key: "k", Due: 10100 * us, Call: 10100 * us, Return: 10200 * us},
		},
	}
}

func lostUpdate() *checker.Witness {
	w := doubleGrant()
	w.Sentence = "Clients 2 and 4 both read 41 and both wrote 42: one of the two was lost."
	op := func(client int32, hold int64, kind histories.Kind, value int64, at time.Duration) histories.Op {
		return histories.Op{Client: client, Hold: hold, Kind: kind, Outcome: histories.OK, Key: "k", Due: at, Call: at, Return: at + 30*us, Value: value}
	}
	w.Ops = slices.Insert(w.Ops, 2,
		op(4, 12, histories.Read, 41, 6500*us), op(2, 11, histories.Read, 41, 6600*us),
		op(2, 11, histories.Write, 42, 7700*us), op(4, 12, histories.Write, 42, 7780*us))
	return w
}

func stalled() *checker.Witness {
	return &checker.Witness{
		Sentence: "Client 0 was stalled for 600 ms while it held k, under a lease of 250 ms. Client 3 was granted k at 352 ms; two clients held it at once for 148 ms.",
		Key:      "k", From: 352 * ms, To: 500 * ms,
		Ops: []histories.Op{
			{Client: 0, Hold: 90, Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Due: 100 * ms, Call: 100 * ms, Return: 101 * ms, Validity: 250 * ms},
			{Client: 0, Kind: histories.Inject, Outcome: histories.OK, Key: "k", Fault: "holder-stall", Due: 120 * ms, Call: 120 * ms, Return: 121 * ms},
			{Client: 3, Hold: 91, Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Due: 130 * ms, Call: 130 * ms, Return: 352 * ms, SentAfter: 221 * ms, Validity: 250 * ms},
			{Client: 3, Hold: 91, Kind: histories.Release, Outcome: histories.OK, Key: "k", Due: 500 * ms, Call: 500 * ms, Return: 501 * ms},
			{Client: 0, Hold: 90, Kind: histories.Release, Outcome: histories.Refused, Key: "k", Due: 720 * ms, Call: 720 * ms, Return: 721 * ms, Error: "not held"},
		},
	}
}
