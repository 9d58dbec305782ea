package suites

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const schemaFile = "../../docs/suite.schema.json"

type object = map[string]any

// TestSchema holds the schema of docs to the table by which files are read.
func TestSchema(t *testing.T) {
	doc := ofMapping(suiteKeys(Known{}))
	doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	doc["title"] = "lockbench suite"
	doc["description"] = "What a bench measures, and the limits that it is held to, in YAML or JSON. Lockbench itself checks more: names, that limits can apply, that durations are not absurd."
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, schemaFile, string(text)+"\n")
}

func ofMapping(keys []key) object {
	properties, required := object{}, []string{}
	for _, k := range keys {
		properties[k.name] = ofKey(k)
		if k.required {
			required = append(required, k.name)
		}
	}
	out := object{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
	switch keys[1].name {
	case "locks":
		out["anyOf"] = []object{{"required": []string{"locks"}}, {"required": []string{"floors"}}}
		out["if"] = object{"properties": object{"arrivals": object{"const": "closed"}}}
		out["then"] = object{"properties": object{"rate": false}}
		out["else"] = object{"required": []string{"rate"}}
	case "as":
		out["dependentRequired"] = object{"params": []string{"as"}}
	case "section":
		out["anyOf"] = []object{{"required": []string{"min"}}, {"required": []string{"max"}}}
		out["not"] = object{"required": []string{"ratio_to", "ratio_to_baseline"}}
	}
	return out
}

func ofKey(k key) object {
	one := ofValue(k)
	if k.list {
		many := object{"type": "array", "items": one, "minItems": 1, "maxItems": maxList, "uniqueItems": true}
		if k.form == aMapping {
			one = many
		} else {
			one = object{"oneOf": []object{one, many}}
		}
	}
	one["description"] = k.doc
	return one
}

func ofValue(k key) object {
	name := object{"type": "string", "pattern": cleanWord}
	switch k.form {
	case aText:
		return object{"type": "string"}
	case aChoice:
		if k.values != nil {
			return object{"enum": k.values}
		}
	case aWhole:
		number := object{"type": "integer", "minimum": k.min, "maximum": k.top}
		if k.instead != "" {
			return object{"oneOf": []object{number, {"const": k.instead}}}
		}
		return number
	case aNumber:
		return object{"type": "number", "minimum": k.min, "maximum": k.max}
	case aSpan:
		return object{"oneOf": []object{{"type": "string", "pattern": `^\+?(0|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`}, {"const": 0}}}
	case aFlag:
		return object{"type": "boolean"}
	case aMapping:
		return ofMapping(k.of)
	case aLock:
		name["pattern"] = placedWord
		if k.of != nil {
			return object{"oneOf": []object{name, ofMapping(k.of)}}
		}
	case aPairs:
		return object{"type": "object", "minProperties": 1, "propertyNames": name,
			"additionalProperties": object{"type": []string{"string", "number", "boolean"}}}
	}
	return name
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fits tells whether a file fits the schema, and whether it can be asked at all.
func fits(t *testing.T, s *jsonschema.Schema, text string) (fits, asked bool) {
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

// finite has text in the place of what JSON has no number for.
func finite(v any) any {
	if m, ok := v.(object); ok {
		for k, one := range m {
			if f, ok := one.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
				m[k] = "no number"
			}
		}
	}
	return v
}

func TestSchemaTakesWhatIsRead(t *testing.T) {
	s := compiled(t)
	texts := map[string]string{"every key": whole, "few keys": few}
	for _, name := range shippedNames() {
		text, _ := Source(name)
		texts[name] = string(text)
	}
	for name, text := range texts {
		again, err := yaml.Marshal(parsed(t, text))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{text, string(again)} {
			if ok, _ := fits(t, s, text); !ok {
				t.Errorf("%s does not fit:\n%s", name, text)
			}
		}
	}
}

func TestSchemaRefusesWhatIsBroken(t *testing.T) {
	s := compiled(t)
	for name, m := range broken() {
		if ok, asked := fits(t, s, m.text); asked && ok != m.unseen {
			t.Errorf("%s: fits is %v, want %v", name, ok, m.unseen)
		}
	}
}
