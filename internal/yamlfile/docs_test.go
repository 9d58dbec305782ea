package yamlfile_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockbench/internal/choose/requirements"
	"lockbench/internal/measure/suites"
	"lockbench/internal/yamlfile"
)

var update = flag.Bool("update", false, "write docs anew")

type object = map[string]any

// golden compares a file with the wanted text. With -update it writes the text to the file instead.
func golden(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, read(t, file)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", file, diff)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keysOf returns the keys of the nested mapping with the given name.
func keysOf(keys []yamlfile.Key, name string) []yamlfile.Key {
	for _, k := range keys {
		if k.Name == name {
			return k.Keys()
		}
	}
	return nil
}

// TestDocs checks that the tables of configuration keys in the documentation are up to date. It also checks that the
// first YAML example on each page is valid.
func TestDocs(t *testing.T) {
	suite, needs := suites.Table(), requirements.Table()
	for file, tables := range map[string]map[string][]yamlfile.Key{
		"../../docs/reference/suites.md": {"a suite": suite, "a section": keysOf(suite, "sections"),
			"a lock": keysOf(keysOf(suite, "sections"), "locks"), "a threshold": keysOf(suite, "thresholds")},
		"../../docs/selection.md": {"needs": needs, "hold": keysOf(needs, "hold"), "pauses": keysOf(needs, "pauses"), "weights": keysOf(needs, "weights")},
	} {
		doc := read(t, file)
		for name, keys := range tables {
			begin, end := fmt.Sprintf("<!-- keys of %s -->\n", name), "<!-- end -->"
			before, rest, found := strings.Cut(doc, begin)
			_, after, closed := strings.Cut(rest, end)
			if !found || !closed {
				t.Fatalf("%s has no place for the keys of %s", file, name)
			}
			doc = before + begin + yamlfile.Table(keys) + end + after
		}
		golden(t, file, doc)
		_, rest, found := strings.Cut(doc, "```yaml\n")
		example, _, closed := strings.Cut(rest, "```")
		if !found || !closed {
			t.Fatalf("%s has no example", file)
		}
		_, err := suites.Parse("example.yaml", []byte(example), suites.Known{})
		if strings.HasSuffix(file, "selection.md") {
			_, err = requirements.Parse("example.yaml", []byte(example), requirements.Known{})
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestSchemas checks that the schemas in docs are up to date.
func TestSchemas(t *testing.T) {
	suite := yamlfile.Schema(suites.Table())
	section := entryOf(suite, "sections")
	section["anyOf"] = []object{{"required": []string{"locks"}}, {"required": []string{"baselines"}}}
	section["if"] = object{"properties": object{"arrivals": object{"const": "closed"}}}
	section["then"] = object{"properties": object{"rate": false}}
	section["else"] = object{"required": []string{"rate"}}
	threshold := entryOf(suite, "thresholds")
	threshold["anyOf"] = []object{{"required": []string{"min"}}, {"required": []string{"max"}}}
	threshold["not"] = object{"required": []string{"ratio_to", "ratio_to_baseline"}}
	suite["title"], suite["description"] = "lockbench suite", "The measurements of a bench and their limits, in YAML or JSON. "+
		"Lockbench also checks names, that limits can apply, and that durations are plausible."
	needs := yamlfile.Schema(requirements.Table())
	needs["title"], needs["description"] = "lockbench needs", "A team's requirements of a lock or its replacement, in YAML or JSON. "+
		"Lockbench also checks the names of stores, that durations are plausible, and that times rise."
	for file, schema := range map[string]object{"../../docs/suite.schema.json": suite, "../../docs/needs.schema.json": needs} {
		schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, file, string(text)+"\n")
	}
}

// entryOf returns the schema of the entries of a list.
func entryOf(schema object, key string) object {
	return schema["properties"].(object)[key].(object)["items"].(object)
}
