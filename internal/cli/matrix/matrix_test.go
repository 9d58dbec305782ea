package matrix

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/impls/libraries"
	"lockbench/internal/cli/console"
	"lockbench/reports/matrix"
)

func names(all []libraries.Choice) []string {
	var names []string
	for _, c := range all {
		names = append(names, c.String())
	}
	return names
}

// TestChoices checks which versions and settings the flags select: all settings of the latest version, and the setting with the
// defect of bad and fixed versions.
func TestChoices(t *testing.T) {
	for _, x := range []struct {
		library, versions string
		has, hasNot       []string
	}{
		{"redisson", "bad", []string{"redisson-java-multilock@3.11.0", "redisson-java-multilock@3.11.1", "redisson-java-lock@3.16.2"},
			[]string{"redisson-java-lock@3.11.0", "redisson-java-lock@4.7.0"}},
		{"redisson", "latest", []string{"redisson-java-lock@4.7.0", "redisson-java-fair@4.7.0"}, []string{"redisson-java-multilock@3.11.0"}},
		{"redisson", "all", []string{"redisson-java-fair@4.7.0", "redisson-java-multilock@3.11.0"}, nil},
		{"redisson-java-fair@4.6.0", "latest", []string{"redisson-java-fair@4.6.0"}, []string{"redisson-java-lock@4.7.0"}},
		{"redlock-5", "latest", []string{"redlock-5@5.0.0-beta.2", "redlock-5-using@5.0.0-beta.2"}, nil},
	} {
		f := flags{libraries: []string{x.library}, versions: x.versions, profile: "quick", jobs: 1}
		chosen, err := f.choices()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range x.has {
			if !slices.Contains(names(chosen), name) {
				t.Errorf("%s, --versions %s: %s is missing in %v", x.library, x.versions, name, names(chosen))
			}
		}
		for _, name := range x.hasNot {
			if slices.Contains(names(chosen), name) {
				t.Errorf("%s, --versions %s: %s is chosen", x.library, x.versions, name)
			}
		}
	}
}

// TestDescribe checks that a result names the defect only in the setting in which it shows.
func TestDescribe(t *testing.T) {
	for _, x := range []struct{ reference, kind, bad, fixed string }{
		{"redisson@3.11.0", libraries.Bad, "3.11.0", "3.11.1"},
		{"redisson@3.11.1", libraries.Fixed, "3.11.0", "3.11.1"},
		{"redisson@4.7.0", libraries.Current, "", ""},
		{"redlock-5-using@5.0.0-beta.2", libraries.Bad, "5.0.0-beta.2", ""},
		{"redlock-5@5.0.0-beta.2", libraries.Current, "", ""},
		{"redlock-5-five@5.0.0-beta.2", libraries.Current, "", ""},
		{"redsync@4.17.0", "", "", ""},
	} {
		c, err := libraries.Find(x.reference)
		if err != nil {
			t.Fatal(err)
		}
		r := describe(c)
		var d matrix.Defect
		if r.Defect != nil {
			d = *r.Defect
		}
		if r.Kind != x.kind || d.Bad != x.bad || d.Fixed != x.fixed {
			t.Errorf("%s: kind %q, defect %+v", x.reference, r.Kind, d)
		}
	}
}

// TestExitCodes checks the exit code for the results of a bad version, of another one, and of one that was not tested.
func TestExitCodes(t *testing.T) {
	broken, held := []matrix.Question{{Property: "progress", Violated: 1}}, []matrix.Question{{Property: "progress", Held: 1}}
	found := []matrix.Step{{Name: matrix.Search, Violated: []string{"progress"}}}
	for _, x := range []struct {
		name, profile, reference string
		questions                []matrix.Question
		steps                    []matrix.Step
		notRun                   string
		want                     int
	}{
		{"a violation in a bad version", "quick", "redisson@3.11.0", broken, found, "", 0},
		{"nothing found in a bad version", "quick", "redisson@3.11.0", held, nil, "", console.ExitXPass},
		{"a bad version whose defect no property covers", "quick", "node-redis-warlock@1.0.0", held, nil, "", 0},
		{"a violation in a fixed version", "quick", "redisson@3.11.1", broken, found, "", console.ExitFail},
		{"nothing found in a current version", "quick", "redisson@4.7.0", held, nil, "", 0},
		{"not tested", "quick", "redisson@4.7.0", nil, nil, "mvn is missing", console.ExitEnvironment},
		{"nothing found in a bad version by the profile smoke", "smoke", "redisson@3.11.0", held, nil, "", 0},
	} {
		c, err := libraries.Find(x.reference)
		if err != nil {
			t.Fatal(err)
		}
		r := describe(c)
		r.Profile, r.Questions, r.Steps, r.NotRun = profiles[x.profile].Name, x.questions, x.steps, x.notRun
		f := flags{profile: x.profile, out: "published"}
		var text bytes.Buffer
		err = f.print(t.Context(), &text, []*matrix.Result{r}, []libraries.Choice{c})
		got := 0
		var exit *console.Exit
		if errors.As(err, &exit) {
			got = exit.Code
		}
		if got != x.want || !strings.Contains(text.String(), "published/index.html") {
			t.Errorf("%s: exit code %d, want %d\n%s", x.name, got, x.want, &text)
		}
	}
}

// TestProblem checks that a result names the first step without a result.
func TestProblem(t *testing.T) {
	failed := matrix.Step{Name: matrix.Scenes, Exit: console.ExitEnvironment, Problem: "start the worker: no such file"}
	for want, steps := range map[string][]matrix.Step{
		"": {{Name: matrix.Scenes}}, "scenes: start the worker: no such file": {failed, {Name: matrix.Search, Problem: "no result"}},
	} {
		if got := problem(steps); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLastLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	for text, want := range map[string]string{
		"a\nlockbench: start servers: no redis\nhint: install it\n": "start servers: no redis",
		"panic\nexit status 2\n":                                    "exit status 2",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := lastLine(file); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRemoveCounterexamples checks that the counterexamples of one version and setting are removed, and nothing else.
func TestRemoveCounterexamples(t *testing.T) {
	dir := t.TempDir()
	stale := []string{"1.0-lease-exclusion.json", "1.0-lease-exclusion.svg", "1.0-progress-2.json"}
	kept := []string{"1.0.json", "1.0-tuned.json", "1.0-tuned-progress.json", "1.0.1-progress.json", "badge.json"}
	for _, name := range append(stale, kept...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeCounterexamples(filepath.Join(dir, "1.0-")); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(stale, kept...) {
		_, err := os.Stat(filepath.Join(dir, name))
		if gone := err != nil; gone != slices.Contains(stale, name) {
			t.Errorf("%s: removed %t", name, gone)
		}
	}
}
