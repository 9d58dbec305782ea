// Package keyedtest holds documentation and schemas to the tables that they are made from, for tests.
package keyedtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"lockbench/internal/keyed"
)

// Golden holds a file to what it has to be, or writes it anew.
func Golden(t *testing.T, file, want string, update bool) {
	t.Helper()
	if update {
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

// Docs holds the tables of keys in a page to those by which files are read, each between marks that have its name. It
// returns the first example in YAML of the page.
func Docs(t *testing.T, file string, tables map[string][]keyed.Key, update bool) (example []byte) {
	t.Helper()
	doc := read(t, file)
	for name, keys := range tables {
		begin, end := fmt.Sprintf("<!-- keys of %s -->\n", name), "<!-- end -->"
		before, rest, found := strings.Cut(doc, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no place for the keys of %s", file, name)
		}
		doc = before + begin + keyed.Table(keys) + end + after
	}
	Golden(t, file, doc, update)
	_, rest, found := strings.Cut(doc, "```yaml\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("%s has no example", file)
	}
	return []byte(text)
}

// Schema holds a file to a schema.
func Schema(t *testing.T, file, title, description string, schema map[string]any, update bool) {
	t.Helper()
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"], schema["description"] = title, description
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	Golden(t, file, string(text)+"\n", update)
}

// Fits tells whether a text in YAML fits the schema of a file, and whether it can be asked at all.
func Fits(t *testing.T, file string) func(text string) (fits, asked bool) {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) (fits, asked bool) {
		t.Helper()
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			return false, false
		}
		inJSON, err := json.Marshal(finite(v))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(inJSON))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(doc) == nil, true
	}
}

// finite has text in the place of what JSON has no number for.
func finite(v any) any {
	if m, ok := v.(map[string]any); ok {
		for k, one := range m {
			if f, ok := one.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
				m[k] = "no number"
			}
		}
	}
	return v
}
