package judge

import (
	"testing"
	"time"

	"lockbench/histories"
)

// lateLoss returns a history in which client 1 loses its key. The parameter lost is the time of the loss. The loss is
// reported only after client 2 was granted the key.
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

// TestLateLoss checks that a late report of a loss still affects the verdict on earlier grants, and that Porcupine
// agrees.
func TestLateLoss(t *testing.T) {
	for name, c := range map[string]struct {
		lost       time.Duration
		violations int
	}{
		"before the next grant":      {99, 0},
		"at the same time":           {106, 0},
		"a nanosecond later":         {107, 1},
		"after the mark":             {108, 1},
		"at the time of its release": {110, 1},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := History(histories.Header{Version: 1, Slack: 1}, histories.Lines(lateLoss(c.lost)), Options{})
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
