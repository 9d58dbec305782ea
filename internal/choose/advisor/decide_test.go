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

// expectation holds the decision that is expected for a requirements file. Comments in the file state the decision, such as
// `# expect: lock redisson`, `# eliminated: fenced pause` or `# stays: redisson`.
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
		case "eliminated:":
			e.out = append(e.out, [2]string{words[1], words[2]})
		case "stays:":
			e.stays = append(e.stays, words[1:]...)
		}
	}
	if e.outcome == "" {
		t.Fatal("the file has no expectation")
	}
	return e
}

// TestDecisions checks that each requirements file leads to the expected decision. The measured values are typical of
// each lock, and the evidence agrees with the expectations of the locks.
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
					t.Errorf("%s is not eliminated for %s\n%s", o[0], o[1], outs(got))
				}
			}
			for _, o := range want.stays {
				if !slices.Contains(got.Survivors, o) {
					t.Errorf("%s is eliminated\n%s", o, outs(got))
				}
			}
		})
	}
}

func eliminated(d selection.Decision, option, requirement string) bool {
	return slices.ContainsFunc(d.Eliminated, func(k selection.Elimination) bool {
		return k.Option == option && (slices.Contains(k.Fails, requirement) || slices.Contains(k.Unknown, requirement))
	})
}

func outs(d selection.Decision) string {
	var b strings.Builder
	for _, k := range d.Eliminated {
		fmt.Fprintf(&b, "  eliminated: %s %v unknown %v: %s\n", k.Option, k.Fails, k.Unknown, k.Reason)
	}
	for _, s := range d.Scores {
		fmt.Fprintf(&b, "  %d %s %.3f %v\n", s.Rank, s.Option, s.Score, s.Parts)
	}
	fmt.Fprintf(&b, "  dominated %v\n", d.Dominated)
	return b.String()
}

// TestSpecial checks that decision.Special returns true for the workloads marked Special, Reentrant or Served, and for no other
// workload.
func TestSpecial(t *testing.T) {
	for _, w := range workloads.All() {
		if want := w.Special || w.Reentrant || w.Served; decision.Special(w.Name) != want {
			t.Errorf("%s: special %v, want %v", w.Name, !want, want)
		}
	}
}

// TestChoices checks that choices lists each lock once. It also checks that the stated properties agree with the
// implementations.
func TestChoices(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range choices() {
		impl, _ := k.in(catalog.All())
		if seen[k.lock] {
			t.Errorf("%s is listed twice", k.lock)
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
