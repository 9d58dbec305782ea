package yamlfile

import (
	"cmp"
	"fmt"
	"strings"
)

// Table returns a Markdown table that documents the given configuration keys, one row per key.
func Table(keys []Key) string {
	var b strings.Builder
	b.WriteString("| key | value | default | |\n|---|---|---|---|\n")
	for _, k := range keys {
		normally, several := cmp.Or(k.Normally, "none"), ""
		if k.Required {
			normally = "required"
		}
		if k.List && k.Form != Mapping {
			several = ", or a list"
		}
		fmt.Fprintf(&b, "| `%s` | %s%s | %s | %s |\n", k.Name, k.describeValues(), several, normally, k.Doc)
	}
	return b.String()
}

// describeValues describes a key's valid values for the documentation.
func (k Key) describeValues() string {
	switch {
	case k.Form == Mapping && k.List:
		return "a list of mappings: see below"
	case k.Form == Mapping:
		return "a mapping: see below"
	case k.Form == Pairs:
		return "a mapping of names to values"
	case k.Form == Name:
		return "a clean name"
	case k.Form == Choice && (k.Values == nil || len(k.Values) > fewValues):
		return "a name"
	case k.Form == Choice:
		return "one of " + k.Want()
	case k.Form == Placed && k.Of != nil:
		return "a name, or a mapping"
	}
	return k.Want()
}
