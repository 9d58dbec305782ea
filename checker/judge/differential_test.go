package judge

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/checker/oracle"
	"lockbench/checker/projection"
	"lockbench/histories"
)

var summary = flag.String("summary", "", "write a summary of the differential test to this file")

// differ describes one differential test. The test generates histories of a model, such as a mutex. It compares the
// judge's verdicts with those of two checkers of that model.
type differ struct {
	name     string
	generate func(*generated)
	views    func() projection.View
	// judged lists the properties that must all hold if the model accepts a history.
	judged []string
	// search checks the whole history with the type frontier of this package and with Porcupine. It reports whether
	// each of them accepts the history.
	search func(*generated) (frontier, porcupine bool)
	// exact reports whether the judge must find a violation in every history that the model rejects.
	exact func(*generated) bool
}

func always(*generated) bool { return true }

func searchBoth[S comparable](m model[S], actions []action) (bool, bool) {
	return m.linearizable(actions), m.porcupine(actions)
}

func differs() []differ {
	owned := func(g *generated) (bool, bool) { return searchBoth(owner, g.actions) }
	return []differ{
		{"plain", (*generated).plain, projection.Lived, []string{"mutual-exclusion", "exact-try"}, owned,
			func(g *generated) bool { return !g.late && !(g.lost && g.refusals()) }},
		{"fenced", (*generated).fences, projection.Lived, []string{"mutual-exclusion", "fencing"}, searchFenced, always},
		{"reentrant", (*generated).reentries, projection.Lived, []string{"mutual-exclusion", "reentrancy", "exact-try"},
			func(g *generated) (bool, bool) { return searchBoth(counted, g.actions) }, always},
		{"leases", (*generated).leases, projection.Promised, []string{"lease-exclusion", "owner-release"},
			func(g *generated) (bool, bool) { return searchBoth(leased, g.actions) }, always},
		{"indeterminate", (*generated).indeterminate, projection.Lived, []string{"mutual-exclusion", "exact-try"}, owned,
			func(g *generated) bool { return !g.refusals() }},
	}
}

// searchFenced checks exclusion and the order of fencing tokens with two separate models. A combined model would be too
// strict: after its lease expired, a paused client may get a lower token than its successor.
//
// searchFenced also checks that both models accept each history that the combined model accepts.
func searchFenced(g *generated) (bool, bool) {
	var grants []action
	for i := range g.ops {
		if op := &g.ops[i]; op.Kind == histories.Acquire {
			grants = append(grants, action{op.Kind, op.Outcome, int(op.Hold), op.Fence, int64(op.Call + op.SentAfter), int64(op.Return)})
		}
	}
	f1, p1 := searchBoth(owner, g.actions)
	f2, p2 := searchBoth(mint, grants)
	if fenced.linearizable(g.actions) && !(f1 && f2) {
		return false, true // two different results make the caller report a disagreement
	}
	return f1 && f2, p1 && p2
}

func (g *generated) refusals() bool {
	return slices.ContainsFunc(g.ops, func(op histories.Op) bool { return op.Outcome == histories.Refused })
}

// outcome counts the histories of one model: without a violation (good), with a violation (bad), and those about which
// the checkers disagree.
type outcome struct{ good, bad, disagreed int }

// compare checks one history with the property monitors, the type frontier and Porcupine. good reports whether
// Porcupine accepts the history. differs describes any disagreement between the checkers, or is empty.
func (d *differ) compare(g *generated) (good bool, differs string) {
	j := newJudge(g.header, Options{})
	j.oracle = oracle.New(true, 0, d.views())
	j.oracle.Whole, j.oracle.Window = 0, 2
	for _, x := range j.judgements {
		if m, ok := x.(oracle.Monitor); ok {
			j.oracle.Watch(m)
		}
	}
	if _, err := histories.Replay(histories.Ops(g.ops), j.visit); err != nil {
		return false, err.Error()
	}
	v := j.verdict(histories.Coverage{Until: 1000})
	clean := true
	for _, p := range d.judged {
		clean = clean && v.Finding(p).Observed != checker.Violated
	}
	f, p := d.search(g)
	switch {
	case len(v.Oracle.Disagreements)+v.Oracle.Undecided > 0:
		return p, fmt.Sprint("windows: ", v.Oracle)
	case f != p:
		return p, fmt.Sprintf("the frontier says %t, Porcupine says %t", f, p)
	case p && !clean, !p && clean && d.exact(g):
		return p, fmt.Sprintf("the monitor says %t, Porcupine says %t", clean, p)
	}
	return p, ""
}

// toCompare returns the number of random histories that the test generates and checks for each model. The environment
// variable LOCKBENCH_DIFFERENTIAL replaces the default number.
func toCompare(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("LOCKBENCH_DIFFERENTIAL")); err == nil {
		return n
	}
	if testing.Short() || raceDetector {
		return 2_000
	}
	return 20_000
}

// TestDifferential checks that three independent checkers agree on small random histories. The checkers are the
// property monitors of the judge, the type frontier of this package, and Porcupine. Some of the histories contain
// violations.
func TestDifferential(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // collect garbage less often to save time, because the histories are small
	n, start := toCompare(t), time.Now()
	all := differs()
	outcomes := make([]outcome, len(all))
	t.Run("models", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].name, func(t *testing.T) {
				t.Parallel()
				outcomes[i] = all[i].run(t, n)
			})
		}
	})
	var text string
	for i, o := range outcomes {
		text += fmt.Sprintf("%-15s %9d %9d %9d %14d\n", all[i].name, o.good+o.bad, o.good, o.bad, o.disagreed)
	}
	text = fmt.Sprintf("Monitor, frontier search and Porcupine (whole, and in windows) on random histories.\nLOCKBENCH_DIFFERENTIAL=%d go test ./checker/judge -run TestDifferential (%s, took %s)\n\n%-15s %9s %9s %9s %14s\n",
		n, start.Format(time.DateOnly), time.Since(start).Round(time.Second), "model", "histories", "legal", "illegal", "disagreements") + text
	t.Log("\n" + text)
	if *summary != "" {
		if err := os.WriteFile(*summary, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (d *differ) run(t *testing.T, n int) outcome {
	var o outcome
	var g generated
	var once sync.Once
	for seed := range uint64(n) {
		g.start(rand.New(rand.NewPCG(seed, 11)))
		d.generate(&g)
		g.end()
		good, differs := d.compare(&g)
		if good {
			o.good++
		} else {
			o.bad++
		}
		if differs != "" {
			o.disagreed++
			once.Do(func() { t.Errorf("seed %d: %s%s", seed, differs, g.text()) })
			if os.Getenv("LOCKBENCH_MUTANT") != "" {
				break // in a mutation test, one disagreement is enough
			}
		}
	}
	if o.good < n/5 || o.bad < n/5 {
		t.Errorf("%d legal and %d illegal histories: the test shows little", o.good, o.bad)
	}
	if o.disagreed > 0 {
		t.Errorf("%d disagreements", o.disagreed)
	}
	return o
}

// text returns the operations of a generated history as JSON lines.
func (g *generated) text() string {
	text := []byte("\n")
	for i := range g.ops {
		text = append(histories.AppendOp(text, &g.ops[i]), '\n')
	}
	return string(text)
}
