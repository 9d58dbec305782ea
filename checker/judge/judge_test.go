package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/checker/oracle"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// disjoint reports whether no two holds of a key overlap. It compares all pairs of holds, independently of the judge.
// If clip is set, a hold ends at the latest when its lease expires.
func disjoint(ops []histories.Op, slack time.Duration, clip bool) bool {
	type span struct{ from, to time.Duration }
	byKey := map[string][]span{}
	for _, a := range ops {
		if a.Kind != histories.Acquire || a.Outcome != histories.OK {
			continue
		}
		end := histories.Forever
		for _, r := range ops {
			if r.Kind == histories.Release && r.Hold == a.Hold {
				end = r.Call
			}
		}
		if until, ok := a.Until(slack); clip && ok {
			end = min(end, until)
		}
		if end <= a.Return {
			continue
		}
		for _, other := range byKey[a.Key] {
			if a.Return < other.to && other.from < end {
				return false
			}
		}
		byKey[a.Key] = append(byKey[a.Key], span{a.Return, end})
	}
	return true
}

// TestMonitorAgrees checks that three independent checkers agree on random histories. The checkers are the judge, the
// function disjoint, which compares all pairs of holds, and Porcupine. Some of the histories contain violations.
func TestMonitorAgrees(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	seen := map[string]int{}
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 7))
		m := &mutex{r: r, keys: []string{"a", "b"}[:1+r.IntN(2)], clients: 1 + r.IntN(4), grants: 2 + r.IntN(12)}
		if r.IntN(2) == 0 {
			m.ttl, m.late = time.Duration(20+r.IntN(30)), 0.1
		}
		if r.IntN(2) == 0 {
			m.faulty = 0.1
		}
		m.unknown = 0.1 * float64(r.IntN(2))
		ops := m.run()
		v, err := History(m.header(), histories.Lines(marked(ops, m.clients, 1+r.IntN(8))), Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, d := range v.Oracle.Disagreements {
			t.Errorf("seed %d: %s", seed, d)
		}
		for _, view := range []struct {
			property string
			clip     bool
		}{{"mutual-exclusion", false}, {"lease-exclusion", true}} {
			want := disjoint(ops, 1, view.clip)
			got := v.Finding(view.property).Violations == 0
			if got != want {
				t.Fatalf("seed %d: %s: monitor says %t, closed form says %t", seed, view.property, got, want)
			}
			seen[fmt.Sprint(view.property, " ", got)]++
		}
	}
	t.Log(seen)
	for _, kind := range []string{"mutual-exclusion true", "mutual-exclusion false", "lease-exclusion true", "lease-exclusion false"} {
		if seen[kind] < n/20 {
			t.Errorf("only %d histories with %s: the test shows little", seen[kind], kind)
		}
	}
}

// TestWindowsAgree checks that Porcupine reaches the same verdict on parts of a history as on the whole history.
func TestWindowsAgree(t *testing.T) {
	bad := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 8))
		m := &mutex{r: r, keys: []string{"a"}, clients: 1 + r.IntN(5), grants: 60 + r.IntN(100)}
		if r.IntN(2) == 0 {
			m.faulty = 0.02
		}
		windowed, whole := oracle.New(true, 0, projection.Lived()), oracle.New(true, 0, projection.Lived())
		windowed.Whole, whole.Whole = 0, math.MaxInt
		p := projection.New(1, func(k *projection.Key, h *projection.Hold, c projection.Change) {
			if c == projection.Closed {
				windowed.Add(k, h)
				whole.Add(k, h)
			}
		})
		if _, err := histories.Replay(histories.Ops(m.run()), func(ev histories.Event) error {
			p.Event(p.Key(ev.Op.Key), ev)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		p.Finish()
		byWindow, atOnce := windowed.Judge(), whole.Judge()
		if !slices.Equal(byWindow.Disagreements, atOnce.Disagreements) || byWindow.Undecided+atOnce.Undecided > 0 || atOnce.Windows > 0 {
			t.Errorf("seed %d: whole %+v, in windows %+v", seed, atOnce, byWindow)
		}
		if len(atOnce.Disagreements) > 0 { // without a monitor (a second checker), each violation that Porcupine finds is listed as a disagreement
			bad++
		} else if byWindow.Windows < 3 {
			t.Errorf("seed %d: %d windows for %d holds", seed, byWindow.Windows, byWindow.Pairs)
		}
	}
	if bad < 30 {
		t.Errorf("only %d bad histories", bad)
	}
}

// blind is a monitor that never finds a violation of its property.
type blind string

func (b blind) Monitors() string   { return string(b) }
func (blind) Violated(string) bool { return false }

// TestDisagreementIsReported checks that a verdict lists a disagreement if only Porcupine finds a violation.
func TestDisagreementIsReported(t *testing.T) {
	m := &mutex{r: rand.New(rand.NewPCG(1, 1)), keys: []string{"a"}, clients: 4, grants: 50, faulty: 1}
	j := newJudge(m.header(), Options{})
	if _, err := histories.Replay(histories.Ops(m.run()), j.visit); err != nil {
		t.Fatal(err)
	}
	j.oracle.Watch(blind("mutual-exclusion"))
	j.oracle.Watch(blind("lease-exclusion"))
	if v := j.verdict(histories.Coverage{}); len(v.Oracle.Disagreements) == 0 {
		t.Error("the oracle did not notice")
	}
}

func TestUnverifiedFaultIsUndecided(t *testing.T) {
	m := &mutex{r: rand.New(rand.NewPCG(1, 1)), keys: []string{"a"}, clients: 4, grants: 50}
	h := m.header()
	h.Fault = "process-pause"
	v, err := History(h, histories.Ops(m.run()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f := v.Finding("mutual-exclusion"); f.Observed != checker.Undecided {
		t.Errorf("observed %s", f.Observed)
	}
}

// TestBackedPromiseNotApplicable checks the reason that the judge states if the property backed-promise is not
// applicable or undecided.
func TestBackedPromiseNotApplicable(t *testing.T) {
	for file, want := range map[string]string{
		"holds--hand-off": "the store was not observed",
		"holds--the-keys-of-the-store-have-other-names":                                "the store's keys could not be attributed",
		"holds--a-key-without-an-expiry-shows-no-lease":                                "the store's keys do not expire, so their lease is not visible",
		"holds--a-hold-too-short-to-be-observed":                                       "the holds are too short to be observed",
		"undecided-backed-promise--a-server-fault-came-first":                          "a fault of the servers or the network may have removed the lock from the store",
		"holds--only-one-of-two-entries-was-read":                                      "",
		"violates-backed-promise+truthful-answer--a-lock-without-a-lease-lost-its-key": "",
	} {
		v, _, err := File("../../histories/corpus/"+file+".jsonl", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := v.Finding("backed-promise"); f.Why != want {
			t.Errorf("%s: %s (%s), want %q", file, f.Observed, f.Why, want)
		}
	}
}

// TestFaultWithoutKey checks that a fault without a key is counted and listed, and that no key is added for it.
func TestFaultWithoutKey(t *testing.T) {
	op := func(client int32, kind histories.Kind, fault string, call time.Duration, outcome histories.Outcome) histories.Op {
		return histories.Op{Client: client, Kind: kind, Fault: fault, Outcome: outcome, Call: call, Return: call + 2}
	}
	j := newJudge(histories.Header{}, Options{})
	if _, err := histories.Replay(histories.Ops([]histories.Op{
		op(-1, histories.Inject, "partition", 10, histories.OK), op(2, histories.Inject, "partition", 13, histories.OK),
		op(2, histories.Heal, "partition", 20, histories.OK), op(2, histories.Inject, "partition", 30, histories.Unknown),
	}), j.visit); err != nil {
		t.Fatal(err)
	}
	v := j.verdict(histories.Coverage{})
	want := []checker.Band{{Name: "partition", Client: -1, From: 10, To: histories.StillOpen, Effective: true}, {Name: "partition", Client: 2, From: 13, To: 22, Effective: true}, {Name: "partition", Client: 2, From: 30, To: histories.StillOpen, Effective: false}}
	if !slices.Equal(v.Faults, want) || v.Counts.Faults != 2 || len(j.projection.Keys) != 0 {
		t.Errorf("%+v, %d verified, %d keys", v.Faults, v.Counts.Faults, len(j.projection.Keys))
	}
}

// TestRecoveries checks that a recovery time is measured from the fault to the next grant to another client.
func TestRecoveries(t *testing.T) {
	v, _, err := File("../../histories/corpus/holds--granted-when-the-lease-of-a-killed-client-ended.jsonl", Options{})
	if want := []time.Duration{95 * time.Millisecond}; err != nil || !slices.Equal(v.Recoveries, want) {
		t.Fatalf("%v, %v", v, err)
	}
	if f, want := v.Finding("recovery"), "1 recovery, median 0.95 x TTL, longest 0.95 x TTL"; f.Evidence != want {
		t.Errorf("%q, want %q", f.Evidence, want)
	}
}

// TestFalseLoss checks that a reported loss is counted as false if the store still has the hold.
func TestFalseLoss(t *testing.T) {
	probe := func(call time.Duration, value int64) histories.Op {
		return histories.Op{Hold: 1, Kind: histories.Probe, Outcome: histories.OK, Key: "k", Call: call, Return: call + 1, Value: value}
	}
	for name, c := range map[string]struct {
		probes []histories.Op
		want   int
	}{
		"before":             {[]histories.Op{probe(4, histories.ProbeMine)}, 0},
		"after":              {[]histories.Op{probe(20, histories.ProbeMine), probe(22, histories.ProbeMine)}, 1},
		"after, and another": {[]histories.Op{probe(20, histories.ProbeOther)}, 0},
	} {
		ops := append([]histories.Op{{Hold: 1, Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Call: 1, Return: 2},
			{Hold: 1, Kind: histories.Lost, Outcome: histories.OK, Key: "k", Call: 9, Return: 10}}, c.probes...)
		v, err := History(histories.Header{}, histories.Ops(ops), Options{})
		if err != nil || v.Counts.FalseLosses != c.want || v.Counts.Losses != 1 {
			t.Errorf("%s: %+v, want %d false losses (%v)", name, v.Counts, c.want, err)
		}
	}
}

// TestHandOffs checks that a grant counts as a hand-off only if its client was waiting at the release.
func TestHandOffs(t *testing.T) {
	hold := func(client int32, call, ret, leave, left time.Duration) []histories.Op {
		return []histories.Op{
			{Client: client, Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Call: call, Return: ret, Validity: histories.Unbounded},
			{Client: client, Kind: histories.Release, Outcome: histories.OK, Key: "k", Call: leave, Return: left}}
	}
	for name, c := range map[string]struct {
		second []histories.Op
		want   int
	}{
		"waited":      {hold(1, 5, 12, 20, 21), 1},
		"came later":  {hold(1, 11, 12, 20, 21), 0},
		"same client": {hold(0, 12, 13, 20, 21), 0},
	} {
		v, err := History(histories.Header{}, histories.Ops(append(hold(0, 1, 2, 10, 11), c.second...)), Options{})
		if err != nil || v.Counts.HandOffs != c.want {
			t.Errorf("%s: %d hand-offs, want %d (%v)", name, v.Counts.HandOffs, c.want, err)
		}
	}
}

// TestResults checks the result for pairs of an expectation and a verdict. An undecided property never passes.
func TestResults(t *testing.T) {
	for _, c := range []struct {
		expected histories.Expected
		observed checker.Observed
		want     checker.Result
	}{
		{histories.ToHold, checker.Held, checker.Pass}, {histories.ToHold, checker.Violated, checker.Fail}, {histories.ToHold, checker.Undecided, checker.Inconclusive},
		{histories.ToBeViolated, checker.Violated, checker.XFail}, {histories.ToBeViolated, checker.Held, checker.XPass}, {histories.ToBeViolated, checker.Undecided, checker.XPass},
		{histories.Unspecified, checker.Violated, checker.NoExpectation}, {histories.ToHold, checker.NotApplicable, checker.NoExpectation},
	} {
		if got := checker.ResultOf(c.expected, c.observed); got != c.want {
			t.Errorf("expected %s, observed %s: %s, want %s", c.expected, c.observed, got, c.want)
		}
	}
}
