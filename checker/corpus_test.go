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
	if err != nil || len(files) < 50 {
		t.Fatalf("want the corpus, got %d files (%v)", len(files), err)
	}
	enough(t, files)
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

// enough tells whether good and bad are there, and each property's violation among them.
func enough(t *testing.T, files []string) {
	good, bad, broken := 0, 0, map[string]bool{}
	for _, file := range files {
		verdict, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".jsonl"), "--")
		if verdict == "holds" {
			good++
		} else if properties, ok := strings.CutPrefix(verdict, "violates-"); ok {
			bad++
			for _, p := range strings.Split(properties, "+") {
				broken[p] = true
			}
		}
	}
	if good < 15 || bad < 15 {
		t.Errorf("%d good and %d bad histories, want 15 of each", good, bad)
	}
	for _, p := range Properties() {
		if !broken[p.Name] {
			t.Errorf("no history violates %s", p.Name)
		}
	}
}
