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

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const maxAdapter = 50 // maximum number of lines of an adapter

var (
	stores    = []string{"redis", "mysql", "postgres", "mongodb", "zookeeper", "etcd", "kubernetes", "none"}
	questions = []string{"none", "lease-exclusion", "mutual-exclusion", "resource-integrity", "owner-release", "fencing", "reentrancy",
		"renewal", "no-orphan", "progress", "recovery", "exact-try", "truthful-answer", "prompt-hand-off", "wait-honoured",
		"responsive", "abandoned-acquire", "loss-notice", "backed-promise"}
	upstream = regexp.MustCompile(`\([^()]*(issue|pull request|release) [A-Z]*-?[\d.]+\)\.$`)
	pinned   = regexp.MustCompile(`^\S+:[^:\s]+$`)
)

func TestLibraries(t *testing.T) {
	all, err := All()
	if err != nil || len(all) == 0 {
		t.Fatalf("found %d libraries: %v", len(all), err)
	}
	names := map[string]string{} // library of each name
	for _, l := range all {
		t.Run(l.folder(), func(t *testing.T) {
			for _, mistake := range slices.Concat(l.mistakes(), adapterMistakes(t, l.folder())) {
				t.Error(mistake)
			}
			for _, name := range l.names() {
				if other := names[name]; other != "" {
					t.Errorf("%s is also a name of %s", name, other)
				}
				names[name] = l.folder()
			}
		})
	}
}

// TestFolders checks that the name and the language of each library are those of its folder.
func TestFolders(t *testing.T) {
	files, err := filepath.Glob("*/*/library.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	for _, file := range files {
		file = filepath.ToSlash(file)
		if l, err := read(file); err != nil || l.folder()+"/library.yaml" != file {
			t.Errorf("%s describes %s (%v)", file, l.folder(), err)
		}
	}
}

// TestFindChoice checks that the name of each choice selects it. The name of a setting may be that of its library too.
func TestFindChoice(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		for _, v := range l.Versions {
			for _, c := range l.Choices(v) {
				got, err := Find(c.String())
				if err != nil || got.String() != c.String() {
					t.Errorf("%s selects %s (%v)", c, got, err)
				}
			}
		}
	}
}

// names returns the name of a library and those of its settings, each once.
func (l Library) names() []string {
	names := []string{l.Name}
	for _, s := range l.Settings {
		if s.Name != l.Name {
			names = append(names, s.Name)
		}
	}
	return names
}

// mistakes returns the mistakes in a description.
func (l Library) mistakes() []string {
	var found []string
	check := func(ok bool, mistake string) {
		if !ok {
			found = append(found, mistake)
		}
	}
	check(registries[l.Registry].language == l.Language, "registry: want that of the language")
	check(l.Package != "", "package is missing")
	check(slices.Contains(stores, l.Store), "store: want one of "+strings.Join(stores, ", "))
	check(strings.Contains(l.Start, "{folder}"), "start: want a command with {folder}")
	check(len(l.Versions) > 0, "versions are missing")
	for _, s := range l.Settings {
		check(s.Name != "", "settings: a name is missing")
		check(len(l.Settings) == 1 || s.About != "", "settings: "+s.Name+" has no description in the field about")
	}
	seen := map[string]bool{}
	for _, v := range l.Versions {
		check(v.Version != "" && !seen[v.Version], "version "+v.Version+": missing or listed twice")
		seen[v.Version] = true
		check(v.Setting == "" || slices.ContainsFunc(l.Settings, func(s Setting) bool { return s.Name == v.Setting }), v.Version+": unknown setting "+v.Setting)
		check(!slices.ContainsFunc(slices.Concat(l.With, v.With), func(p string) bool { return !pinned.MatchString(p) }), "with: want name:version")
		for _, mistake := range slices.Concat(v.mistakes(), l.caseMistakes(v)) {
			found = append(found, v.Version+": "+mistake)
		}
	}
	return found
}

func (v Version) mistakes() []string {
	switch v.State {
	case Fixed, Current:
		if cmp.Or(v.Defect, v.Situation, v.Question, v.ShownBy, v.Case) != "" {
			return []string{"defect, situation, question, shown_by and case belong to a bad version"}
		}
		return nil
	case Bad:
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
func (l Library) caseMistakes(v Version) []string {
	if v.Case == "" {
		return nil
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/case.schema.json")
	if err != nil {
		return []string{err.Error()}
	}
	source, err := os.ReadFile(l.CasePath(v))
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
	if fields := document.(map[string]any); fields["lock"] != l.SettingOf(v).Name || fields["property"] != v.Question {
		return []string{v.Case + ": want the lock " + l.SettingOf(v).Name + " and the property " + v.Question}
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
