package bench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/web/chromium"
	"lockbench/reports/bench"
)

// crowd returns a bench with more locks than a chart has colours.
func crowd(t *testing.T) *bench.Results {
	t.Helper()
	r := read(t, options{})
	for _, like := range []struct {
		name, of string
		factor   float64
	}{
		{"redislock", "redsync", 0.8}, {"redislock-tuned", "redsync-tuned", 1.1},
		{"rueidislock", "redsync", 1.15}, {"rueidislock-tuned", "redsync-tuned", 1.13},
		{"redisson", "set-px-lua", 0.93}, {"postgres-advisory-with-a-long-name", "fenced", 0.4},
	} {
		imitate(r, like.name, like.of, like.factor)
	}
	return bench.ResultsOf(r.Plan, r.Trials)
}

// imitate adds a copy of a lock (parameter of) under another name (parameter name). It multiplies the goodput and the
// utilisation of the copy by a factor.
func imitate(r *bench.Results, name, of string, factor float64) {
	p := r.Plan
	s, _ := p.Subject(of)
	s.Name, s.Lock = name, name
	p.Subjects = append(p.Subjects, s)
	for _, pair := range p.Pairs {
		if p.Subjects[pair.Subject].Name == of {
			p.Pairs = append(p.Pairs, bench.Pair{Subject: len(p.Subjects) - 1, Point: pair.Point})
		}
	}
	for _, trial := range r.Trials {
		if trial.Subject != of {
			continue
		}
		its := *trial
		its.Dir, its.Subject, its.Figures = strings.Replace(trial.Dir, of, name, 1), name, bench.Figures{}
		for metric, v := range trial.Figures {
			if metric == "goodput" || metric == "utilisation" {
				v *= factor
			}
			its.Figures[metric] = v
		}
		r.Trials = append(r.Trials, &its)
	}
}

// TestCrowd checks that a chart of many locks draws six lines in colour and the others in grey. The chart must name the
// grey lines.
func TestCrowd(t *testing.T) {
	got := page(t, crowd(t))
	checkDrawings(t, got)
	if !strings.Contains(got, "In colour are the first 6 by rank; in grey: ") || !strings.Contains(got, `class="line cx"`) {
		t.Error("no line is grey, or it is not said which")
	}
}

// TestChromium checks the report pages in a browser.
func TestChromium(t *testing.T) {
	ctx := chromium.Open(t)
	for name, r := range map[string]*bench.Results{
		"crowd":    crowd(t),
		"fault":    read(t, options{Blocks: 8, Unsafe: []string{"set-px-lua"}, Fault: true, Discarded: 1}),
		"withheld": read(t, options{Blocks: 7, BlindJudge: true, OnlyFigures: true}),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "index.html")
			if err := os.WriteFile(file, []byte(page(t, r)), 0o644); err != nil {
				t.Fatal(err)
			}
			b := chromium.Load(t, ctx, file)
			main := map[bool]string{false: ".compare", true: ".checks"}[len(r.Withheld) > 0]
			b.Prints(main)
			b.Fits()
			b.Contrast()
			if name != "crowd" { // the accessibility check takes too long for a page with very many locks
				b.Accessible()
			}
			if len(r.Withheld) == 0 {
				for _, c := range append(b.Complaints("emptyDrawings()"), b.Complaints("cutNames()")...) {
					t.Error(c)
				}
			}
			b.Quiet()
		})
	}
}
