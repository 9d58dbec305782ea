package checker

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCorpus judges histories whose file name is the expected verdict: holds--what, or
// violates-PROPERTY+PROPERTY--what, or undecided-PROPERTY--what. Every other property must not be violated.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("../histories/corpus/*.jsonl")
	if err != nil || len(files) < 20 {
		t.Fatalf("want the corpus, got %d files (%v)", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			want, _, _ := strings.Cut(name, "--")
			v, _, err := File(file)
			if err != nil {
				t.Fatal(err)
			}
			expected, properties, _ := strings.Cut(want, "-")
			got := map[Observed][]string{}
			for _, f := range v.Findings {
				got[f.Observed] = append(got[f.Observed], f.Property)
				if f.Observed == Violated && (f.Witness == nil || f.Witness.Story == "" || len(f.Witness.Ops) == 0) {
					t.Errorf("%s is violated without a witness", f.Property)
				}
				if f.Observed == Violated {
					t.Logf("%s: %s", f.Property, f.Witness.Story)
				}
			}
			for o, word := range map[Observed]string{Violated: "violates", Undecided: "undecided"} {
				var want []string
				if expected == word {
					want = strings.Split(properties, "+")
				}
				slices.Sort(want)
				slices.Sort(got[o])
				if !slices.Equal(want, got[o]) {
					t.Errorf("%s: want %v, got %v", o, want, got[o])
				}
			}
			if expected == "holds" && len(got[Held]) == 0 {
				t.Error("no property held: the history shows nothing")
			}
			for _, d := range v.Oracle.Disagreements {
				t.Error("oracle:", d)
			}
		})
	}
}
