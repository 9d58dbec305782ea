package advisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/impls/catalog"
	"lockbench/internal/choose/decision"
	"lockbench/internal/choose/requirements"
	"lockbench/reports/selection"
	"lockbench/workloads"
)

// expectation is what a file of needs says of itself, in comments: `# expect: lock redisson`, `# out: fenced pause`,
// `# stays: redisson`.
type expectation struct {
	outcome     selection.Outcome
	recommended []string
	out         [][2]string
	stays       []string
}

func expectationOf(t *testing.T, text string) (e expectation) {
	t.Helper()
	for line := range strings.Lines(text) {
		words := strings.Fields(strings.TrimPrefix(line, "#"))
		if !strings.HasPrefix(line, "#") || len(words) < 2 {
			continue
		}
		switch words[0] {
		case "expect:":
			e.outcome, e.recommended = selection.Outcome(words[1]), words[2:]
		case "out:":
			e.out = append(e.out, [2]string{words[1], words[2]})
		case "stays:":
			e.stays = append(e.stays, words[1:]...)
		}
	}
	if e.outcome == "" {
		t.Fatal("the file does not say what to expect")
	}
	return e
}

// TestDecisions: each file of needs comes to what a reasonable engineer would expect, for the reason that it gives. The
// evidence is what the table of locks expects, and figures as they were measured.
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("testdata/needs/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n, err := requirements.Parse(file, text, requirements.Known{Stores: Stores()})
			if err != nil {
				t.Fatal(err)
			}
			want := expectationOf(t, string(text))
			options := Options(n)
			got := decision.Decide(n, options, world(n, options)).Decision
			if got.Outcome != want.outcome || len(want.recommended) > 0 && !slices.Equal(got.Recommended, want.recommended) {
				t.Errorf("%s %v, want %s %v\n%s", got.Outcome, got.Recommended, want.outcome, want.recommended, outs(got))
			}
			for _, o := range want.out {
				if !eliminated(got, o[0], o[1]) {
					t.Errorf("%s is not out for %s\n%s", o[0], o[1], outs(got))
				}
			}
			for _, o := range want.stays {
				if !slices.Contains(got.Survivors, o) {
					t.Errorf("%s is out\n%s", o, outs(got))
				}
			}
		})
	}
}

func eliminated(d selection.Decision, option, requirement string) bool {
	return slices.ContainsFunc(d.Out, func(k selection.Elimination) bool {
		return k.Option == option && (slices.Contains(k.Fails, requirement) || slices.Contains(k.Unsure, requirement))
	})
}

func outs(d selection.Decision) string {
	var b strings.Builder
	for _, k := range d.Out {
		fmt.Fprintf(&b, "  out: %s %v unsure %v: %s\n", k.Option, k.Fails, k.Unsure, k.Reason)
	}
	for _, s := range d.Scores {
		fmt.Fprintf(&b, "  %d %s %.3f %v\n", s.Rank, s.Option, s.Score, s.Parts)
	}
	fmt.Fprintf(&b, "  dominated %v\n", d.Dominated)
	return b.String()
}

// TestSpecial: the decision sets aside the workloads that the table of workloads does.
func TestSpecial(t *testing.T) {
	for _, w := range workloads.All() {
		if want := w.Special || w.Reentrant || w.Served; decision.Special(w.Name) != want {
			t.Errorf("%s: special %v, want %v", w.Name, !want, want)
		}
	}
}

// TestChoices: each is a lock of the table, and what is kept of it beside that agrees with the table.
func TestChoices(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range choices() {
		impl, _ := k.in(catalog.All())
		if seen[k.lock] {
			t.Errorf("%s stands twice", k.lock)
		}
		seen[k.lock] = true
		if len(k.languages) == 0 || k.lease == "" {
			t.Errorf("%s has no languages, or no lease", k.lock)
		}
		if renews := impl.Renews || impl.Session && impl.Store != "mysql" && impl.Store != "postgres"; renews != (k.lease == selection.Renewed) && !impl.ThirdParty {
			t.Errorf("%s: its lease is %s, and the table of locks says that it renews: %v", k.lock, k.lease, renews)
		}
	}
}
