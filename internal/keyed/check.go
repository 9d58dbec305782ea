package keyed

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"lockbench/internal/suggest"
)

// mapping checks a mapping: that each of its keys is known, stands once, and has a value of its kind.
func (f *File) mapping(n *yaml.Node, keys []Key) {
	if n.Kind != yaml.MappingNode || tagged(n) {
		f.Wrong(n, "%s is no mapping (want keys such as %s, each with a value)", told(n), keys[0].Name)
		return
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	seen := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		at := slices.Index(names, name.Value)
		switch first, twice := seen[name.Value]; {
		case at < 0 || name.Kind != yaml.ScalarNode || tagged(name):
			f.Wrong(name, "unknown key %s%s", told(name), suggest.Meant(name.Value, names))
		case twice:
			f.Wrong(name, "%s: the key comes twice, first in line %d", name.Value, first)
		default:
			seen[name.Value] = name.Line
			f.value(keys[at], value)
		}
	}
	for _, k := range keys {
		_, here := seen[k.Name]
		_, beside := seen[k.With]
		if k.Required && !here {
			f.Wrong(n, "%s is missing: %s", k.Name, k.Doc)
		}
		if k.With != "" && here && !beside {
			f.Wrong(n, "%s is missing: %s", k.With, k.WithWhy)
		}
	}
}

// value checks what stands behind a key. One value becomes a list of one, where a list may stand.
func (f *File) value(k Key, n *yaml.Node) {
	switch {
	case !k.List || null(n):
		f.one(k, n)
	case n.Kind != yaml.SequenceNode:
		if k.Form == Mapping {
			f.Wrong(n, "%s: %s is no list (want a list, each entry after a dash)", k.Name, told(n))
			return
		}
		f.one(k, n)
		only := *n
		*n = yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Column: n.Column, Content: []*yaml.Node{&only}}
	case tagged(n):
		f.Wrong(n, "%s: the tag %s is not understood here", k.Name, plain(n.Tag))
	case len(n.Content) == 0 && k.Empty:
	case len(n.Content) == 0:
		f.Wrong(n, "%s: the list is empty", k.Name)
	case len(n.Content) > maxList:
		f.Wrong(n, "%s: the list has %d entries (want at most %d)", k.Name, len(n.Content), maxList)
	default:
		f.entries(k, n.Content)
	}
}

// entries checks a list. That a value comes twice is seen in what it was normalised to.
func (f *File) entries(k Key, list []*yaml.Node) {
	seen := map[string]bool{}
	for _, n := range list {
		before := len(f.wrongs)
		f.one(k, n)
		if n.Kind != yaml.ScalarNode || len(f.wrongs) > before {
			continue
		}
		if seen[n.Value] {
			f.Wrong(n, "%s: %s comes twice", k.Name, n.Value)
		}
		seen[n.Value] = true
	}
}

// one checks a single value.
func (f *File) one(k Key, n *yaml.Node) {
	if null(n) {
		f.Wrong(n, "%s: has no value", k.Name)
		return
	}
	if n.Kind == yaml.AliasNode {
		f.Wrong(n, "%s: an alias is not understood here (write the value out)", k.Name)
		return
	}
	before := len(f.wrongs)
	switch {
	case k.Form == Mapping || k.Of != nil && n.Kind == yaml.MappingNode:
		f.mapping(n, k.Of)
	case k.Form == Pairs:
		f.pairs(k, n)
	case n.Kind != yaml.ScalarNode || tagged(n):
		f.Wrong(n, "%s: %s is no single value (want %s)", k.Name, told(n), k.Want())
	default:
		if why := k.scalar(n); why != "" {
			f.Wrong(n, "%s: %s", k.Name, why)
		}
	}
	if k.Check == nil || len(f.wrongs) > before {
		return
	}
	if err := k.Check(n); err != nil {
		f.Wrong(n, "%s: %v", k.Name, err)
	}
}

// pairs checks a mapping of any names to single values.
func (f *File) pairs(k Key, n *yaml.Node) {
	if n.Kind != yaml.MappingNode || tagged(n) || len(n.Content) == 0 {
		f.Wrong(n, "%s: %s is no mapping of names to values", k.Name, told(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		f.one(Key{Name: k.Name, Form: Name}, name)
		if seen[name.Value] {
			f.Wrong(name, "%s: the key %s comes twice", k.Name, name.Value)
		}
		seen[name.Value] = true
		f.value(Key{Name: name.Value, Form: Text}, value)
	}
}

// null tells whether nothing stands there, or a word for nothing.
func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
