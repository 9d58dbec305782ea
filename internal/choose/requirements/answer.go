package requirements

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"lockbench/internal/yamlfile"
	"lockbench/reports/selection"
)

// answers are values in YAML, by the path of their need.
type answers map[string]string

// needs returns what the answers come to, or all that is wrong with them.
func (a answers) needs(known Known) (n selection.Needs, wrong []string) {
	var b strings.Builder
	for _, k := range Table() {
		value, said := a[k.Name]
		if k.Form == yamlfile.Mapping && !said {
			var stated []string
			for _, of := range k.Of(k.Into) {
				if v, ok := a[k.Name+"."+of.Name]; ok {
					stated = append(stated, of.Name+": "+v)
				}
			}
			value, said = "{"+strings.Join(stated, ", ")+"}", len(stated) > 0
		}
		if said {
			b.WriteString(k.Name + ": " + value + "\n")
		}
	}
	n, err := Parse("", []byte(b.String()), known)
	return n, yamlfile.Texts(err)
}

// with returns what is known once a line has answered a question, or why it does not. An empty line takes every default.
func (a answers) with(q question, line string) (answers, string) {
	all := maps.Clone(a)
	lower := strings.ToLower(line)
	switch first := keyAt(Table(), q.keys[0]); {
	case strings.TrimSpace(line) == "":
	case first.List:
		words := strings.FieldsFunc(lower, func(r rune) bool { return strings.ContainsRune(", \t", r) })
		if len(words) == 1 && (words[0] == "none" || words[0] == "any") {
			words = nil
		}
		for i, word := range words {
			words[i] = inYAML(word)
		}
		all[q.keys[0]] = "[" + strings.Join(words, ", ") + "]"
	case first.Form == yamlfile.Mapping:
		words := strings.FieldsFunc(lower, func(r rune) bool { return strings.ContainsRune(",;:= \t", r) })
		if len(words)%2 != 0 {
			return nil, "these are no pairs (want a name and a number, and the next, such as goodput 2 recovery 0)"
		}
		var pairs []string
		for i := 0; i < len(words); i += 2 {
			pairs = append(pairs, inYAML(words[i])+": "+inYAML(words[i+1]))
		}
		all[q.keys[0]] = "{" + strings.Join(pairs, ", ") + "}"
	default:
		return all, all.inOrder(q, line)
	}
	return all, ""
}

// inOrder takes the words of a line as the values of a question's keys. A dash leaves one at its default, and a text at the end
// takes all that is left.
func (a answers) inOrder(q question, line string) string {
	words := strings.Fields(line)
	if last := keyAt(Table(), q.keys[len(q.keys)-1]); last.Form == yamlfile.Text && len(words) >= len(q.keys) {
		words = append(words[:len(q.keys)-1:len(q.keys)-1], strings.Join(words[len(q.keys)-1:], " "))
	}
	if len(words) > len(q.keys) {
		return fmt.Sprintf("these are %d values, and there is room for %d: %s", len(words), len(q.keys), strings.Join(q.keys, ", "))
	}
	for i, word := range words {
		k := keyAt(Table(), q.keys[i])
		if k.Form != yamlfile.Text {
			word = strings.ToLower(word)
		}
		if k.Form == yamlfile.Flag && word != "-" {
			said, ok := map[string]string{"yes": "true", "y": "true", "true": "true", "no": "false", "n": "false", "false": "false"}[word]
			if !ok {
				return fmt.Sprintf("%s: %q is neither yes nor no", k.Name, word)
			}
			word = said
		}
		if word != "-" {
			a[q.keys[i]] = inYAML(word)
		}
	}
	return ""
}

// inYAML returns a word as it has to stand in YAML, where a number stays one.
func inYAML(word string) string {
	if strings.ContainsAny(word, ",[]{}:#\"'\\") || strings.ContainsAny(word[:1], "&*!|>%@`?") || strconv.Quote(word) != `"`+word+`"` {
		return strconv.Quote(word)
	}
	return word
}
