package requirements

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"lockbench/internal/choose/decision"
	"lockbench/internal/keyed"
	"lockbench/reports/selection"
)

// Write writes needs as a file to be read, and gone on with, by people. What was assumed stands there as a comment, so that it
// stays assumed when the file is read again. Where pauses were measured is not written: a file gives them.
func Write(n selection.Needs) []byte {
	var b bytes.Buffer
	b.WriteString("# What is needed of whatever keeps two from doing the same thing at once (docs/needs.md).\n" +
		"# A need behind a # was not stated: its default stands there. Take the # away to state it.\n")
	values := valuesOf(n)
	for _, k := range keys(Known{}) {
		b.WriteString("\n" + comment(k.Doc))
		if k.Form == keyed.Mapping {
			writeMapping(&b, k, values, n.Assumed)
			continue
		}
		unsaid := slices.Contains(n.Assumed, k.Name) || k.Name == "guards" && n.Guards == ""
		b.WriteString(strings.TrimRight(hash(unsaid)+k.Name+": "+inYAML(k, values), " ") + "\n")
	}
	return b.Bytes()
}

// writeMapping writes a mapping, or where nothing in it was stated, a comment that would be one.
func writeMapping(b *bytes.Buffer, k keyed.Key, values *yaml.Node, assumed []string) {
	inner := keyed.At(values, k.Name)
	unsaid := func(of keyed.Key) bool { return slices.Contains(assumed, k.Name+"."+of.Name) }
	none := !slices.ContainsFunc(k.Of, func(of keyed.Key) bool { return !unsaid(of) })
	fmt.Fprintf(b, "%s%s:\n", hash(none), k.Name)
	for _, of := range k.Of {
		fmt.Fprintf(b, "%s  %s: %s # %s\n", hash(unsaid(of)), of.Name, inYAML(of, inner), of.Doc)
	}
}

// comment breaks a sentence into lines.
func comment(text string) string {
	const width = 100
	var b strings.Builder
	column := width
	for _, word := range strings.Fields(text) {
		if column+1+len(word) > width {
			b.WriteString("\n#")
			column = 1
		}
		b.WriteString(" " + word)
		column += 1 + len(word)
	}
	return strings.TrimPrefix(b.String(), "\n") + "\n"
}

func hash(unsaid bool) string {
	if unsaid {
		return "# "
	}
	return ""
}

// valuesOf are needs as a mapping in YAML.
func valuesOf(n selection.Needs) *yaml.Node {
	n.Guards = strings.Join(strings.Fields(n.Guards), " ")
	weights := map[string]float64{}
	for _, c := range decision.Criteria() {
		weights[c] = n.Weight(c)
	}
	n.Weights = weights
	var root yaml.Node
	if err := root.Encode(n); err != nil {
		panic(fmt.Sprintf("needs are made of nothing that YAML has no word for: %v", err))
	}
	return &root
}

// inYAML is the value of a key as it stands in a file, in one line.
func inYAML(k keyed.Key, values *yaml.Node) string {
	v, found := keyed.Find(values, k.Name)
	switch {
	case !found && k.List:
		return "[]"
	case !found:
		return ""
	case k.List:
		v.Style = yaml.FlowStyle
	case k.Form == keyed.Span || k.Form == keyed.Number:
		return inWords(k, v)
	}
	text, err := yaml.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("a node that was made of needs is no YAML: %v", err))
	}
	return strings.TrimSpace(string(text))
}

// inWords is a single value as people write it.
func inWords(k keyed.Key, v *yaml.Node) string {
	switch k.Form {
	case keyed.Span:
		if d, err := time.ParseDuration(v.Value); err == nil {
			return keyed.Spelt(d)
		}
	case keyed.Number:
		var f float64
		if v.Decode(&f) == nil {
			return keyed.Plainly(f)
		}
	}
	return v.Value
}
