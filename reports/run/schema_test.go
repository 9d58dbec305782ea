package run

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(read(t, "..", "..", "docs", "results.schema.json")))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("results.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("results.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parsed(t *testing.T, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func checkResultsFitTheSchema(t *testing.T, dir string, r *Results) {
	s := schema(t)
	if err := s.Validate(parsed(t, read(t, dir, ResultsName))); err != nil {
		t.Errorf("a whole run: %v", err)
	}
	empty := t.TempDir()
	if err := WriteManifest(empty, Manifest{Name: "empty"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(empty); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(parsed(t, read(t, empty, ResultsName))); err != nil {
		t.Errorf("an empty run: %v", err)
	}
}

// checkSchemaRefuses makes several changes to a valid document, one at a time, and checks that the schema rejects each result.
func checkSchemaRefuses(t *testing.T, dir string, r *Results) {
	s := schema(t)
	whole := read(t, dir, ResultsName)
	type object = map[string]any
	first := func(doc object, list string) object { return doc[list].([]any)[0].(object) }
	for name, spoil := range map[string]func(doc object){
		"another version":      func(doc object) { doc["lockbench_results"] = 1 },
		"no cells":             func(doc object) { delete(doc, "cells") },
		"a field of no name":   func(doc object) { first(doc, "cells")["verdict"] = "fine" },
		"an unknown result":    func(doc object) { first(doc, "cells")["result"] = "safe" },
		"no evidence":          func(doc object) { first(doc, "cells")["evidence"] = []any{} },
		"a sum that is none":   func(doc object) { first(doc, "files")["sha256"] = "abc" },
		"a negative duration":  func(doc object) { first(doc, "measurements")["ttl_ns"] = -1 },
		"a rank over 1":        func(doc object) { first(first(doc, "measurements")["hold"].(object), "curve")["rank"] = 50 },
		"an unknown state":     func(doc object) { first(doc, "trials")["state"] = "lost" },
		"a time that is none":  func(doc object) { doc["run"].(object)["started"] = "yesterday" },
		"an unknown wait":      func(doc object) { first(doc, "measurements")["longest_wait"].(object)["ended"] = "?" },
		"a number for a word":  func(doc object) { first(doc, "gaps")["reason"] = 3 },
		"an unknown parameter": func(doc object) { doc["run"].(object)["parameters"] = []any{object{"name": "x"}} },
	} {
		t.Run(name, func(t *testing.T) {
			var doc object
			if err := json.Unmarshal(whole, &doc); err != nil {
				t.Fatal(err)
			}
			spoil(doc)
			text := marshal(t, doc)
			if err := s.Validate(parsed(t, text)); err == nil {
				t.Error("the schema accepts it")
			}
		})
	}
}

// TestSchemaIsStrict checks that no object of the schema accepts unknown fields.
func TestSchemaIsStrict(t *testing.T) {
	text := string(read(t, "..", "..", "docs", "results.schema.json"))
	objects := strings.Count(text, `"type": "object"`)
	if strict := strings.Count(text, `"additionalProperties": false`); objects == 0 || strict != objects {
		t.Errorf("%d of %d objects are strict", strict, objects)
	}
}
