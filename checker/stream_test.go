package checker

import (
	"math/rand/v2"
	"testing"
	"time"

	"lockbench/histories"
)

// one is a hold of a given length, asked for when the one before is released.
func one(client int32, number int64, from, to, validity time.Duration) []histories.Op {
	return []histories.Op{
		{Client: client, Hold: number, Kind: histories.Acquire, Outcome: histories.OK, Key: "a", Call: from, Return: from + 1, Validity: validity},
		{Client: client, Hold: number, Kind: histories.Release, Outcome: histories.OK, Key: "a", Call: to - 1, Return: to},
	}
}

// TestHoldThatNeverEnds: a hold whose client is gone keeps the oracle's windows open. They are searched all
// the same when they are too many, and where that turns out to have been rash nothing is claimed.
func TestHoldThatNeverEnds(t *testing.T) {
	for _, renewed := range []bool{false, true} {
		ops := one(0, 1, 0, 9, 5)[:1]
		now := time.Duration(10)
		for i := range int64(30_000) {
			ops = append(ops, one(1, i+2, now, now+5, 5)...)
			now += 6
		}
		if renewed {
			ops = append(ops, histories.Op{Client: 0, Hold: 1, Kind: histories.Renew, Outcome: histories.OK, Key: "a", Call: now, Return: now + 1, Validity: 5})
		}
		j := newJudge(histories.Header{Version: 1, Slack: 1, TTL: 5}, Options{})
		most := 0
		cover, err := histories.Replay(histories.Ops(ops), func(ev histories.Event) error {
			for _, view := range j.oracle.keys {
				if len(view) > 0 && view[0].stream != nil {
					most = max(most, len(view[0].stream.waiting))
				}
			}
			return j.visit(ev)
		})
		if err != nil {
			t.Fatal(err)
		}
		v := j.verdict(cover)
		if len(v.Oracle.Disagreements) > 0 || (v.Oracle.Undecided > 0) != renewed {
			t.Errorf("renewed %t: %+v", renewed, v.Oracle)
		}
		if v.Finding("mutual-exclusion").Observed != Violated || (v.Finding("lease-exclusion").Observed == Violated) != renewed {
			t.Errorf("renewed %t: mutual-exclusion %s, lease-exclusion %s", renewed, v.Finding("mutual-exclusion").Observed, v.Finding("lease-exclusion").Observed)
		}
		if most > 3*maxWaiting {
			t.Errorf("%d instants were kept", most)
		}
	}
}

// TestSampleSeesWhatTheMonitorSees: a violation late in a long history is searched though most windows are
// not, and a monitor that invents one is contradicted.
func TestSampleSeesWhatTheMonitorSees(t *testing.T) {
	var ops []histories.Op
	now := time.Duration(10)
	for i := range int64(150_000) {
		ops = append(ops, one(int32(i%2), i+1, now, now+5, histories.Unbounded)...)
		now += 6
	}
	h := histories.Header{Version: 1, Slack: 1}
	v, err := Judge(h, histories.Ops(ops))
	if err != nil || v.Oracle.Skipped == 0 || len(v.Oracle.Disagreements) > 0 {
		t.Fatalf("%v %+v", err, v.Oracle)
	}
	full, err := JudgeWith(h, histories.Ops(ops), Options{FullOracle: true})
	if err != nil || full.Oracle.Skipped > 0 || full.Oracle.Windows != v.Oracle.Windows+v.Oracle.Skipped {
		t.Errorf("%v full %+v, sampled %+v", err, full.Oracle, v.Oracle)
	}
	at := len(ops) - 20_000
	bad := append(ops[:at:at], one(2, 1<<40, ops[at-1].Return-3, ops[at].Return+3, histories.Unbounded)...)
	bad = append(bad, ops[at:]...)
	v, err = Judge(h, histories.Ops(bad))
	if err != nil || v.Finding("mutual-exclusion").Observed != Violated || len(v.Oracle.Disagreements) > 0 {
		t.Errorf("%v %+v", err, v.Oracle)
	}
}

// TestTokensAreForgotten: what is kept of tokens does not grow with the history, and what is forgotten is
// still spoken for.
func TestTokensAreForgotten(t *testing.T) {
	x := newFencing(&facts{}).(*tokens)
	k := &key{name: "a"}
	grant := func(number, fence int64, from time.Duration) {
		op := histories.Op{Client: int32(number % 3), Hold: number, Kind: histories.Acquire, Outcome: histories.OK, Call: from, Return: from + 1, Fence: fence}
		x.event(k, histories.Event{Op: &op})
		x.event(k, histories.Event{Op: &op, Return: true})
		x.change(k, &hold{acquire: op, granted: op.Return}, began)
	}
	r := rand.New(rand.NewPCG(1, 1))
	stuck := histories.Op{Client: 99, Kind: histories.Acquire, Call: 5}
	for i := range int64(50_000) {
		if i == 20_000 {
			x.event(k, histories.Event{Op: &stuck}) // one that stays open
		}
		grant(i+1, 2*i+1+r.Int64N(2), time.Duration(10*i))
		if m := x.keys.of(k); len(m.grants) > maxGrants || len(m.by) > maxGrants {
			t.Fatalf("%d grants are kept", len(m.grants))
		}
	}
	if x.violations != 0 {
		t.Fatal("tokens that rise were found to fall")
	}
	grant(60_000, 7, 600_000)
	if x.violations != 1 {
		t.Error("a token as low as one that was forgotten was not noticed")
	}
}
