// Package libraries tests the descriptions of third-party libraries. Each folder <language>/<library> contains the file
// library.yaml with the versions to test, and an adapter that lets lockbench test the library. install.sh installs one
// version.
package libraries

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// library is the content of a library.yaml.
type library struct {
	Name     string
	Language string
	Registry string
	Package  string
	With     []string // packages that every version needs in addition to the library, as name:version
	Store    string
	Start    string // command of the worker; {folder} is the folder that install.sh prints
	Versions []version
}

// version is a version of a library to test.
type version struct {
	Version   string
	State     string   // "bad" for a version with a defect, "fixed" for a version without this defect, or "current"
	With      []string // packages that only this version needs in addition to the library
	Argument  string   // command-line argument of the adapter, which selects how it uses the library; may be empty
	Defect    string   // defect of this version of the library, with the upstream issue; "": no known defect
	Situation string   // events that make the defect visible
	Question  string   // property that the defect violates; "none": no property covers it
	ShownBy   string   `yaml:"shown_by"` // flags with which lockbench verify detects the defect; may be empty
	Case      string   // name of a file in the same folder with a case (docs/case.schema.json) that shows the defect; may be empty
}

const maxAdapter = 50 // maximum number of lines of an adapter

var (
	registries = map[string]string{"pypi": "python", "npm": "node", "maven": "java", "go": "go", "crates": "rust"}
	stores     = []string{"redis", "mysql", "postgres", "mongodb", "zookeeper", "etcd", "none"}
	questions  = []string{"none", "lease-exclusion", "mutual-exclusion", "resource-integrity", "owner-release", "fencing", "reentrancy",
		"renewal", "no-orphan", "progress", "recovery", "exact-try", "truthful-answer", "prompt-hand-off", "wait-honoured",
		"responsive", "abandoned-acquire", "loss-notice", "backed-promise"}
	upstream = regexp.MustCompile(`\([^()]*(issue|pull request|release) [A-Z]*-?[\d.]+\)\.$`)
	pinned   = regexp.MustCompile(`^\S+:[^:\s]+$`)
)

func TestLibraries(t *testing.T) {
	files, err := filepath.Glob("*/*/library.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d libraries: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.ToSlash(filepath.Dir(file)), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var l library
			if err := yaml.UnmarshalWithOptions(source, &l, yaml.Strict()); err != nil {
				t.Fatal(err)
			}
			for _, mistake := range slices.Concat(l.mistakes(filepath.Dir(file)), adapterMistakes(t, filepath.Dir(file))) {
				t.Error(mistake)
			}
		})
	}
}

// mistakes returns the mistakes in a description. folder is the folder of its library.yaml.
func (l library) mistakes(folder string) []string {
	var found []string
	check := func(ok bool, mistake string) {
		if !ok {
			found = append(found, mistake)
		}
	}
	check(filepath.ToSlash(folder) == l.Language+"/"+l.Name, "name and language: want those of the folder")
	check(registries[l.Registry] == l.Language, "registry: want that of the language")
	check(l.Package != "", "package is missing")
	check(slices.Contains(stores, l.Store), "store: want one of "+strings.Join(stores, ", "))
	check(strings.Contains(l.Start, "{folder}"), "start: want a command with {folder}")
	check(len(l.Versions) > 0, "versions are missing")
	seen := map[string]bool{}
	for _, v := range l.Versions {
		check(v.Version != "" && !seen[v.Version], "version "+v.Version+": missing or listed twice")
		seen[v.Version] = true
		check(!slices.ContainsFunc(slices.Concat(l.With, v.With), func(p string) bool { return !pinned.MatchString(p) }), "with: want name:version")
		for _, mistake := range slices.Concat(v.mistakes(), v.caseMistakes(l.Name, folder)) {
			found = append(found, v.Version+": "+mistake)
		}
	}
	return found
}

func (v version) mistakes() []string {
	switch v.State {
	case "fixed", "current":
		if cmp.Or(v.Defect, v.Situation, v.Question, v.ShownBy, v.Case) != "" {
			return []string{"defect, situation, question, shown_by and case belong to a bad version"}
		}
		return nil
	case "bad":
	default:
		return []string{"state: want bad, fixed or current"}
	}
	var found []string
	if !upstream.MatchString(v.Defect) {
		found = append(found, "defect: want a sentence that ends with the upstream issue in parentheses")
	}
	if v.Situation == "" {
		found = append(found, "situation is missing")
	}
	if !slices.Contains(questions, v.Question) {
		found = append(found, "question: want one of "+strings.Join(questions, ", "))
	}
	return found
}

// caseMistakes returns the mistakes in the case file of a version, if there is one.
func (v version) caseMistakes(library, folder string) []string {
	if v.Case == "" {
		return nil
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/case.schema.json")
	if err != nil {
		return []string{err.Error()}
	}
	source, err := os.ReadFile(filepath.Join(folder, v.Case))
	if err != nil {
		return []string{err.Error()}
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		return []string{v.Case + ": " + err.Error()}
	}
	if err := schema.Validate(document); err != nil {
		return []string{v.Case + ": " + err.Error()}
	}
	if fields := document.(map[string]any); fields["lock"] != library || fields["property"] != v.Question {
		return []string{v.Case + ": want the lock " + library + " and the property " + v.Question}
	}
	return nil
}

// adapterMistakes returns the mistakes in the adapter of a library: missing files, and files with too many lines.
func adapterMistakes(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	files = slices.DeleteFunc(files, func(file string) bool { return slices.Contains([]string{".yaml", ".json"}, filepath.Ext(file)) })
	if len(files) == 0 {
		found = append(found, "the adapter is missing")
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(source, []byte("\n")); lines > maxAdapter {
			found = append(found, filepath.Base(file)+" has more than 50 lines")
		}
	}
	return found
}
