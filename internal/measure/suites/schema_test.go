package suites

import (
	"testing"

	"go.yaml.in/yaml/v3"

	"lockbench/internal/keyed"
	"lockbench/internal/keyed/keyedtest"
)

const schemaFile = "../../../docs/suite.schema.json"

type object = map[string]any

// TestSchema holds the schema of docs to the table by which files are read.
func TestSchema(t *testing.T) {
	doc := keyed.Schema(suiteKeys(Known{}))
	section := entryOf(doc, "sections")
	section["anyOf"] = []object{{"required": []string{"locks"}}, {"required": []string{"floors"}}}
	section["if"] = object{"properties": object{"arrivals": object{"const": "closed"}}}
	section["then"] = object{"properties": object{"rate": false}}
	section["else"] = object{"required": []string{"rate"}}
	threshold := entryOf(doc, "thresholds")
	threshold["anyOf"] = []object{{"required": []string{"min"}}, {"required": []string{"max"}}}
	threshold["not"] = object{"required": []string{"ratio_to", "ratio_to_baseline"}}
	keyedtest.Schema(t, schemaFile, "lockbench suite", "What a bench measures, and the limits that it is held to, in YAML or JSON. Lockbench itself checks more: names, that limits can apply, that durations are not absurd.", doc, *update)
}

// entryOf is the schema of an entry of a list.
func entryOf(schema object, key string) object {
	return schema["properties"].(object)[key].(object)["items"].(object)
}

func TestSchemaTakesWhatIsRead(t *testing.T) {
	fits := keyedtest.Fits(t, schemaFile)
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
			if ok, _ := fits(text); !ok {
				t.Errorf("%s does not fit:\n%s", name, text)
			}
		}
	}
}

func TestSchemaRefusesWhatIsBroken(t *testing.T) {
	fits := keyedtest.Fits(t, schemaFile)
	for name, m := range broken() {
		if ok, asked := fits(m.text); asked && ok != m.unseen {
			t.Errorf("%s: fits is %v, want %v", name, ok, m.unseen)
		}
	}
}
