package checker

import (
	"testing"
	"time"

	"lockbench/histories"
)

// lateLoss is a history in which a client is granted the key between a loss and the mark above the notice of it: for a
// while it looks as if both had it.
func lateLoss(lost time.Duration) []histories.Line {
	op := func(client int32, kind histories.Kind, call, ret time.Duration) histories.Line {
		return histories.Line{Op: histories.Op{Client: client, Hold: int64(client), Kind: kind, Outcome: histories.OK, Key: "k",
			Call: call, Return: ret, Validity: histories.Unbounded}}
	}
	return []histories.Line{
		op(1, histories.Acquire, 1, 2),
		op(2, histories.Acquire, 100, 106),
		{Mark: true, At: 107},
		op(1, histories.Lost, lost, 109),
		op(2, histories.Release, 110, 111),
		op(3, histories.Acquire, 112, 113),
		{Mark: true, At: 116},
	}
}

// TestLateLoss: what is told of a loss after a mark decides about the grants above it, and the oracle agrees.
func TestLateLoss(t *testing.T) {
	for name, c := range map[string]struct {
		lost       time.Duration
		violations int
	}{
		"before the next grant":      {99, 0},
		"at the very time of it":     {106, 0},
		"a nanosecond after it":      {107, 1},
		"after the mark":             {108, 1},
		"at the time of its release": {110, 1},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Judge(histories.Header{Version: 1, Slack: 1}, source(lateLoss(c.lost)))
			if err != nil {
				t.Fatal(err)
			}
			for _, property := range []string{"mutual-exclusion", "lease-exclusion"} {
				if got := v.Finding(property).Violations; got != c.violations {
					t.Errorf("%s: %d violations, want %d", property, got, c.violations)
				}
			}
			if len(v.Oracle.Disagreements) > 0 {
				t.Error("oracle:", v.Oracle.Disagreements)
			}
		})
	}
}

// TestOverlapsWithOneThatNeverEnds: each grant beside a hold that nobody gives up is a violation, however many there are,
// and what is shown is the first.
func TestOverlapsWithOneThatNeverEnds(t *testing.T) {
	const grants = 3 * maxOpen
	ops := []histories.Op{{Client: 0, Hold: 1, Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Call: 1, Return: 2, Validity: histories.Unbounded}}
	for i := range int64(grants) {
		at := time.Duration(10 + 10*i)
		ops = append(ops, histories.Op{Client: 1, Hold: 2 + i, Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Call: at, Return: at + 1, Validity: histories.Unbounded},
			histories.Op{Client: 1, Hold: 2 + i, Kind: histories.Release, Outcome: histories.OK, Key: "k", Call: at + 2, Return: at + 3})
	}
	j := newJudge(histories.Header{Version: 1, Slack: 1}, Options{})
	if _, err := histories.Replay(histories.Ops(ops), j.visit); err != nil {
		t.Fatal(err)
	}
	for _, x := range j.judgements {
		if e, ok := x.(*exclusion); ok && len(*e.open.of(j.projection.key("k"))) > maxOpen {
			t.Errorf("%s keeps %d overlaps open", e.property, len(e.open[0]))
		}
	}
	f := j.verdict(histories.Coverage{Until: time.Second}).Finding("mutual-exclusion")
	if f.Violations != grants || f.Witness.From != 11 {
		t.Errorf("%d violations, the first at %d; want %d and 11", f.Violations, f.Witness.From, grants)
	}
}
