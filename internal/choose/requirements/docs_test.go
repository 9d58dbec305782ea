package requirements

import (
	"testing"

	"lockbench/internal/keyed"
	"lockbench/internal/keyed/keyedtest"

	"lockbench/internal/choose/decision"
)

const schemaFile = "../../../docs/needs.schema.json"

// TestDocs holds the tables of keys to those by which files are read, and the example to being one.
func TestDocs(t *testing.T) {
	example := keyedtest.Docs(t, "../../../docs/needs.md", map[string][]keyed.Key{"needs": keys(Known{}), "hold": holdKeys(),
		"pauses": pauseKeys(), "weights": weightKeys()}, *update)
	if _, err := Parse("example.yaml", example, Known{}); err != nil {
		t.Error(err)
	}
}

// TestSchema holds the schema of docs to the table by which files are read.
func TestSchema(t *testing.T) {
	keyedtest.Schema(t, schemaFile, "lockbench needs", "What a team needs of whatever keeps two from doing the same thing at once, in YAML or JSON. "+
		"Lockbench itself checks more: names of stores, that durations are not absurd, that times rise.", keyed.Schema(keys(Known{})), *update)
}

func TestSchemaTakesWhatIsRead(t *testing.T) {
	fits := keyedtest.Fits(t, schemaFile)
	for _, text := range []string{whole, few, string(Write(parsed(t, whole))), string(Write(parsed(t, few)))} {
		if ok, _ := fits(text); !ok {
			t.Errorf("it does not fit:\n%s", text)
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

func TestCriteria(t *testing.T) {
	for i, k := range weightKeys() {
		if k.Name != decision.Criteria()[i] {
			t.Errorf("weight %d is of %s, and the criterion is %s", i, k.Name, decision.Criteria()[i])
		}
	}
	if len(weightKeys()) != len(decision.Criteria()) {
		t.Error("a criterion has no weight")
	}
}
