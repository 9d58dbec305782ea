package judge

import (
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/histories"
)

// holdOps returns the acquire and the release of one hold of key "a".
func holdOps(client int32, number int64, from, to, validity time.Duration) []histories.Op {
	return []histories.Op{
		{Client: client, Hold: number, Kind: histories.Acquire, Outcome: histories.OK, Key: "a", Call: from, Return: from + 1, Validity: validity},
		{Client: client, Hold: number, Kind: histories.Release, Outcome: histories.OK, Key: "a", Call: to - 1, Return: to},
	}
}

// TestSampleFindsTheMonitorsViolations checks that Porcupine confirms a violation near the end of a long history.
// Porcupine usually checks only a random sample of the later operations. It must check all remaining operations on a
// key once a property monitor has found a violation on that key.
func TestSampleFindsTheMonitorsViolations(t *testing.T) {
	var ops []histories.Op
	now := time.Duration(10)
	for i := range int64(150_000) {
		ops = append(ops, holdOps(int32(i%2), i+1, now, now+5, histories.Unbounded)...)
		now += 6
	}
	h := histories.Header{Version: 1, Slack: 1}
	v, err := History(h, histories.Ops(ops), Options{})
	if err != nil || v.Oracle.Skipped == 0 || len(v.Oracle.Disagreements) > 0 {
		t.Fatalf("%v %+v", err, v.Oracle)
	}
	full, err := History(h, histories.Ops(ops), Options{FullOracle: true})
	if err != nil || full.Oracle.Skipped > 0 || full.Oracle.Windows != v.Oracle.Windows+v.Oracle.Skipped {
		t.Errorf("%v full %+v, sampled %+v", err, full.Oracle, v.Oracle)
	}
	at := len(ops) - 20_000
	bad := append(ops[:at:at], holdOps(2, 1<<40, ops[at-1].Return-3, ops[at].Return+3, histories.Unbounded)...)
	bad = append(bad, ops[at:]...)
	v, err = History(h, histories.Ops(bad), Options{})
	if err != nil || v.Finding("mutual-exclusion").Observed != checker.Violated || len(v.Oracle.Disagreements) > 0 {
		t.Errorf("%v %+v", err, v.Oracle)
	}
}
