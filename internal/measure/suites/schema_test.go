package suites

import (
	"bytes"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaFile = "../../../docs/suite.schema.json"

// fits returns a function that reports whether a YAML text fits the schema, and whether the text could be checked.
func fits(t *testing.T) func(text string) (fits, asked bool) {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) (fits, asked bool) {
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

func TestSchemaTakesWhatIsRead(t *testing.T) {
	fits := fits(t)
	texts := map[string]string{"every key": whole, "few keys": few}
	for _, name := range shippedNames() {
		text, _ := Source(name)
		texts[name] = string(text)
	}
	for name, text := range texts {
		for _, text := range []string{text, string(Write(*parsed(t, text)))} {
			if ok, _ := fits(text); !ok {
				t.Errorf("%s does not fit:\n%s", name, text)
			}
		}
	}
}

func TestSchemaRefusesWhatIsBroken(t *testing.T) {
	fits := fits(t)
	for name, m := range broken() {
		if ok, asked := fits(m.text); asked && ok != m.unseen {
			t.Errorf("%s: fits is %v, want %v", name, ok, m.unseen)
		}
	}
}
