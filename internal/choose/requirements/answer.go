package requirements

import (
	"fmt"
	"strings"

	"lockbench/internal/choose/decision"
	"lockbench/internal/yamlfile"
)

// answers are values by the path of their need.
type answers map[string]*yamlfile.Node

// needs are what the answers come to, or all that is wrong with them.
func (a answers) needs(known Known) (n decision.Needs, wrong []string) {
	all := keys(&n, known)
	f := yamlfile.Check(mappingOf(a, "", all), all)
	if err := f.Err(); err != nil {
		return decision.Needs{}, yamlfile.Texts(err)
	}
	return n, yamlfile.Texts(complete(f, &n))
}

// mappingOf is the mapping that would stand in a file. Checking writes its values in one way, which does no harm to answers.
func mappingOf(a answers, prefix string, keys []yamlfile.Key) *yamlfile.Node {
	m := &yamlfile.Node{Kind: yamlfile.Map}
	for _, k := range keys {
		v := a[prefix+k.Name]
		if k.Form == yamlfile.Mapping && v == nil {
			v = mappingOf(a, prefix+k.Name+".", k.Of(k.Into))
			if len(v.Content) == 0 {
				continue
			}
		}
		if v != nil {
			m.Content = append(m.Content, yamlfile.Scalar(k.Name), v)
		}
	}
	return m
}

// with is what is known once a line has answered a question, or why it does not. An empty line takes every default.
func (a answers) with(q question, line string) (answers, string) {
	all := answers{}
	for path, v := range a {
		all[path] = v
	}
	switch first := keyAt(Table(), q.keys[0]); {
	case strings.TrimSpace(line) == "":
		return all, ""
	case first.List:
		all[q.keys[0]] = listOf(line)
	case first.Form == yamlfile.Mapping:
		m, why := pairsOf(line)
		if why != "" {
			return nil, why
		}
		all[q.keys[0]] = m
	default:
		if why := all.inOrder(q, line); why != "" {
			return nil, why
		}
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
		if word == "-" {
			continue
		}
		k := keyAt(Table(), q.keys[i])
		said, why := spoken(k, word)
		if why != "" {
			return why
		}
		a[q.keys[i]] = yamlfile.Scalar(said)
	}
	return ""
}

// spoken is a word as it would stand in a file: people capitalise, and say yes.
func spoken(k yamlfile.Key, word string) (said, why string) {
	if k.Form == yamlfile.Text {
		return word, ""
	}
	word = strings.ToLower(word)
	if k.Form != yamlfile.Flag {
		return word, ""
	}
	switch word {
	case "yes", "y", "true":
		return "true", ""
	case "no", "n", "false":
		return "false", ""
	}
	return "", fmt.Sprintf("%s: %q is neither yes nor no", k.Name, word)
}

// listOf takes words with commas or blanks between them.
func listOf(line string) *yamlfile.Node {
	list := &yamlfile.Node{Kind: yamlfile.List}
	words := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	if len(words) == 1 && (words[0] == "none" || words[0] == "any") {
		return list
	}
	for _, word := range words {
		list.Content = append(list.Content, yamlfile.Scalar(word))
	}
	return list
}

// pairsOf takes names and values in turn, whatever stands between them.
func pairsOf(line string) (*yamlfile.Node, string) {
	words := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return strings.ContainsRune(",;:= \t", r) })
	if len(words)%2 != 0 {
		return nil, "these are no pairs (want a name and a number, and the next, such as goodput 2 recovery 0)"
	}
	m := &yamlfile.Node{Kind: yamlfile.Map}
	for _, word := range words {
		m.Content = append(m.Content, yamlfile.Scalar(word))
	}
	return m, ""
}
