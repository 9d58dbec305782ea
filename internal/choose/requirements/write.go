package requirements

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/choose/decision"
	"lockbench/internal/yamlfile"
)

// Write writes needs as a file to be read, and gone on with, by people. What was assumed stands there as a comment, so that it
// stays assumed when the file is read again. Where pauses were measured is not written: a file gives them.
func Write(n decision.Needs) []byte {
	var b bytes.Buffer
	b.WriteString("# What is needed of whatever keeps two from doing the same thing at once (docs/needs.md).\n" +
		"# A need behind a # was not stated: its default stands there. Take the # away to state it.\n")
	n.Guards = strings.Join(strings.Fields(n.Guards), " ")
	for _, k := range keys(&n, Known{}) {
		b.WriteString("\n" + comment(k.Doc))
		if k.Form == yamlfile.Mapping {
			writeMapping(&b, k, n.Assumed)
			continue
		}
		unsaid := slices.Contains(n.Assumed, k.Name) || k.Name == "guards" && n.Guards == ""
		b.WriteString(strings.TrimRight(hash(unsaid)+k.Name+": "+k.Text(), " ") + "\n")
	}
	return b.Bytes()
}

// writeMapping writes a mapping, or where nothing in it was stated, a comment that would be one.
func writeMapping(b *bytes.Buffer, k yamlfile.Key, assumed []string) {
	inner := k.Of(k.Into)
	unsaid := func(of yamlfile.Key) bool { return slices.Contains(assumed, k.Name+"."+of.Name) }
	none := !slices.ContainsFunc(inner, func(of yamlfile.Key) bool { return !unsaid(of) })
	fmt.Fprintf(b, "%s%s:\n", hash(none), k.Name)
	for _, of := range inner {
		fmt.Fprintf(b, "%s  %s: %s # %s\n", hash(unsaid(of)), of.Name, of.Text(), of.Doc)
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
