package suites

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// maxList is how many values a list has at most.
const maxList = 100

// mapping checks a mapping: that each of its keys is known, stands once, and has a value of its kind.
func (r *reader) mapping(n *yaml.Node, keys []key) {
	if n.Kind != yaml.MappingNode || tagged(n) {
		r.wrong(n, "%s is no mapping (want keys such as %s, each with a value)", told(n), keys[0].name)
		return
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	seen := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		at := slices.Index(names, name.Value)
		switch first := seen[name.Value]; {
		case at < 0 || name.Kind != yaml.ScalarNode || tagged(name):
			r.wrong(name, "unknown key %s%s", told(name), meant(name.Value, names))
		case first > 0:
			r.wrong(name, "%s: the key comes twice, first in line %d", name.Value, first)
		default:
			seen[name.Value] = name.Line
			r.value(keys[at], value)
		}
	}
	for _, k := range keys {
		if k.required && seen[k.name] == 0 {
			r.wrong(n, "%s is missing: %s", k.name, k.doc)
		}
	}
}

// value checks what stands behind a key. One value becomes a list of one, where a list may stand.
func (r *reader) value(k key, n *yaml.Node) {
	switch {
	case !k.list || null(n):
		r.one(k, n)
	case n.Kind != yaml.SequenceNode:
		if k.form == aMapping {
			r.wrong(n, "%s: %s is no list (want a list, each entry after a dash)", k.name, told(n))
			return
		}
		r.one(k, n)
		only := *n
		*n = yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Column: n.Column, Content: []*yaml.Node{&only}}
	case tagged(n):
		r.wrong(n, "%s: the tag %s is not understood here", k.name, n.Tag)
	case len(n.Content) == 0:
		r.wrong(n, "%s: the list is empty", k.name)
	case len(n.Content) > maxList:
		r.wrong(n, "%s: the list has %d entries (want at most %d)", k.name, len(n.Content), maxList)
	default:
		r.entries(k, n.Content)
	}
}

// entries checks a list. That a value comes twice is seen in what it was normalised to.
func (r *reader) entries(k key, list []*yaml.Node) {
	seen := map[string]bool{}
	for _, n := range list {
		before := len(r.wrongs)
		r.one(k, n)
		if n.Kind != yaml.ScalarNode || len(r.wrongs) > before {
			continue
		}
		if seen[n.Value] {
			r.wrong(n, "%s: %s comes twice", k.name, n.Value)
		}
		seen[n.Value] = true
	}
}

// one checks a single value.
func (r *reader) one(k key, n *yaml.Node) {
	if null(n) {
		r.wrong(n, "%s: has no value", k.name)
		return
	}
	if n.Kind == yaml.AliasNode {
		r.wrong(n, "%s: an alias is not understood here (write the value out)", k.name)
		return
	}
	switch k.form {
	case aMapping:
		r.mapping(n, k.of)
		return
	case aPairs:
		r.pairs(k, n)
		return
	case aLock:
		if n.Kind == yaml.MappingNode && k.of != nil {
			r.lockMapping(k, n)
			return
		}
	}
	if n.Kind != yaml.ScalarNode || tagged(n) {
		r.wrong(n, "%s: %s is no single value (want %s)", k.name, told(n), k.want())
		return
	}
	if why := k.scalar(n); why != "" {
		r.wrong(n, "%s: %s", k.name, why)
		return
	}
	if k.form == aLock && k.name == "locks" {
		r.lock(n)
	}
}

// lockMapping checks a lock that is more than a name. With parameters of its own it is another subject.
func (r *reader) lockMapping(k key, n *yaml.Node) {
	before := len(r.wrongs)
	r.mapping(n, k.of)
	if params := child(n, "params"); params != nil && child(n, "as") == nil {
		r.wrong(n, "as is missing: with params it is a subject of its own, which needs a name")
	}
	if len(r.wrongs) == before {
		r.lock(n)
	}
}

// lock asks the caller of what the lock can do.
func (r *reader) lock(n *yaml.Node) {
	if r.known.Lock == nil {
		return
	}
	var l Lock
	if err := n.Decode(&l); err != nil {
		r.wrong(n, "locks: %v", err)
		return
	}
	if err := r.known.Lock(l); err != nil {
		r.wrong(n, "locks: %v", err)
	}
}

// pairs checks a mapping of any names to single values.
func (r *reader) pairs(k key, n *yaml.Node) {
	if n.Kind != yaml.MappingNode || tagged(n) || len(n.Content) == 0 {
		r.wrong(n, "%s: %s is no mapping of names to values", k.name, told(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		r.one(key{name: k.name, form: aName}, name)
		if seen[name.Value] {
			r.wrong(name, "%s: the key %s comes twice", k.name, name.Value)
		}
		seen[name.Value] = true
		r.value(key{name: name.Value, form: aText}, value)
	}
}

// null tells whether nothing stands there, or a word for nothing.
func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// child is the value of a mapping's key; nil where it has none.
func child(n *yaml.Node, name string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}
