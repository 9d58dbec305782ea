package requirements

import (
	"bytes"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"lockbench/internal/choose/decision"
)

const schemaFile = "../../../docs/needs.schema.json"

// fits returns a function that checks a YAML text against the schema. It reports whether the text matches the schema and
// whether the text is valid YAML.
func fits(t *testing.T) func(text string) (fits, valid bool) {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) (fits, valid bool) {
		t.Helper()
		var v any
		inJSON, err := yaml.YAMLToJSON([]byte(text))
		if err == nil {
			v, err = jsonschema.UnmarshalJSON(bytes.NewReader(inJSON))
		}
		if err != nil {
			return false, false
		}
		return s.Validate(v) == nil, true
	}
}

func TestSchemaAccepts(t *testing.T) {
	fits := fits(t)
	for _, text := range []string{whole, few, string(Write(parsed(t, whole))), string(Write(parsed(t, few)))} {
		if ok, _ := fits(text); !ok {
			t.Errorf("it does not fit:\n%s", text)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	fits := fits(t)
	for name, m := range broken() {
		if ok, valid := fits(m.text); valid && ok != m.unseen {
			t.Errorf("%s: fits: %v, want %v", name, ok, m.unseen)
		}
	}
}

func TestCriteria(t *testing.T) {
	for i, k := range weightKeys(new(map[string]float64)) {
		if k.Name != decision.Criteria()[i] {
			t.Errorf("weight %d is of %s, and the criterion is %s", i, k.Name, decision.Criteria()[i])
		}
	}
	if len(weightKeys(new(map[string]float64))) != len(decision.Criteria()) {
		t.Error("a criterion has no weight")
	}
}
