package suites

import (
	"fmt"
	"strings"
	"testing"
)

const docsFile = "../../docs/benchmarks.md"

// TestDocs holds the tables of keys to those by which files are read, and the example to being one.
func TestDocs(t *testing.T) {
	doc := read(t, docsFile)
	for _, table := range []struct {
		name string
		keys []key
	}{
		{"suite", suiteKeys(Known{})}, {"section", sectionKeys(Known{})}, {"lock", lockKeys(Known{})}, {"threshold", thresholdKeys()},
	} {
		begin, end := fmt.Sprintf("<!-- keys of a %s -->\n", table.name), "<!-- end -->"
		before, rest, found := strings.Cut(doc, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no place for the keys of a %s", docsFile, table.name)
		}
		doc = before + begin + tableOf(table.keys) + end + after
	}
	golden(t, docsFile, doc)
	_, rest, _ := strings.Cut(doc, "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	if _, err := Parse("example.yaml", []byte(example), Known{}); err != nil {
		t.Error(err)
	}
}

func tableOf(keys []key) string {
	var b strings.Builder
	b.WriteString("| key | value | default | |\n|---|---|---|---|\n")
	for _, k := range keys {
		normally, several := k.normally, ""
		if k.required {
			normally = "required"
		}
		if k.list && k.form != aMapping {
			several = ", or a list"
		}
		fmt.Fprintf(&b, "| `%s` | %s%s | %s | %s |\n", k.name, formOf(k), several, orNone(normally), k.doc)
	}
	return b.String()
}

func formOf(k key) string {
	switch k.form {
	case aMapping:
		return "a list of mappings: see below"
	case aPairs:
		return "a mapping of names to values"
	case aName:
		return "a clean name"
	}
	if k.form == aChoice && (k.values == nil || len(k.values) > fewValues) {
		return "a name"
	}
	if k.form == aChoice {
		return "one of " + k.want()
	}
	if k.form == aLock && k.of != nil {
		return "a lock"
	}
	return k.want()
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
