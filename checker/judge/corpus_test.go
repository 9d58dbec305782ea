package judge

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockbench/checker"
	"lockbench/checker/properties"
	"lockbench/histories/edn"
)

// corpus returns the files of the corpus: hand-written histories and histories from Jepsen. Each file name states the
// expected verdict.
func corpus(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../histories/corpus/*.jsonl")
	edn, err2 := filepath.Glob("../../histories/corpus/*.edn")
	if err != nil || err2 != nil || len(files) < 20 || len(edn) < 3 {
		t.Fatalf("want the corpus, got %d and %d files", len(files), len(edn))
	}
	return append(files, edn...)
}

// TestCorpus checks that each history has exactly the verdicts that its file name states. The name is holds--title,
// violates-PROPERTY+PROPERTY--title or undecided-PROPERTY--title. An underscore joins two verdicts.
func TestCorpus(t *testing.T) {
	files := corpus(t)
	enough(t, files)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			want, _, _ := strings.Cut(name, "--")
			v, _, err := File(file, Options{})
			if err != nil {
				t.Fatal(err)
			}
			expected := map[string]string{}
			for part := range strings.SplitSeq(want, "_") {
				word, properties, _ := strings.Cut(part, "-")
				expected[word] = properties
			}
			got := map[checker.Observed][]string{}
			for _, f := range v.Findings {
				got[f.Observed] = append(got[f.Observed], f.Property)
				if f.Observed == checker.Violated && (f.Witness == nil || f.Witness.Sentence == "" || len(f.Witness.Ops) == 0) {
					t.Errorf("%s is violated without a witness", f.Property)
				}
				if f.Observed == checker.Violated {
					t.Logf("%s: %s", f.Property, f.Witness.Sentence)
				}
			}
			for o, word := range map[checker.Observed]string{checker.Violated: "violates", checker.Undecided: "undecided"} {
				var want []string
				if properties := expected[word]; properties != "" {
					want = strings.Split(properties, "+")
				}
				slices.Sort(want)
				slices.Sort(got[o])
				if !slices.Equal(want, got[o]) {
					t.Errorf("%s: want %v, got %v", o, want, got[o])
				}
			}
			if _, holds := expected["holds"]; holds && len(got[checker.Held]) == 0 {
				t.Error("no property held: the history shows nothing")
			}
			for _, d := range v.Oracle.Disagreements {
				t.Error("oracle:", d)
			}
		})
	}
}

// enough checks that the corpus has histories with and without violations, and a violation of each property.
func enough(t *testing.T, files []string) {
	good, bad, broken := 0, 0, map[string]bool{}
	for _, file := range files {
		verdict, _, _ := strings.Cut(filepath.Base(file), "--")
		verdict, _, _ = strings.Cut(verdict, "_")
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
	for _, p := range properties.All() {
		if !broken[p.Name] {
			t.Errorf("no history violates %s", p.Name)
		}
	}
}

// TestEDNPreservesVerdicts checks that exporting a history to Jepsen's EDN does not change its header or its verdict.
func TestEDNPreservesVerdicts(t *testing.T) {
	for _, file := range corpus(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, header, err := File(file, Options{})
			if err != nil {
				t.Fatal(err)
			}
			exported := filepath.Join(t.TempDir(), "history.edn")
			out, err := os.Create(exported)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			if _, err := edn.Export(out, file); err != nil {
				t.Fatal(err)
			}
			got, header2, err := File(exported, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(header, header2); diff != "" {
				t.Errorf("the header changed (-want +got):\n%s", diff)
			}
			want.Oracle.Took, got.Oracle.Took = 0, 0
			want.Warnings = nil // the export omits warnings about the file, such as unknown fields
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the verdict changed (-want +got):\n%s", diff)
			}
		})
	}
}
