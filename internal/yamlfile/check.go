package yamlfile

import (
	"reflect"
	"slices"

	"lockbench/internal/suggest"
)

// mapping checks a mapping: that each of its keys is known, stands once, and has a value of its kind.
func (f *File) mapping(n *Node, keys []Key) {
	if n.Kind != Map {
		f.wrong(n, "%s is no mapping (want keys such as %s, each with a value)", told(n), keys[0].Name)
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
		case at < 0 || !name.single():
			f.wrong(name, "unknown key %s%s", told(name), suggest.Meant(name.Value, names))
		case twice:
			f.wrong(name, "%s: the key comes twice, first in line %d", name.Value, first)
		default:
			seen[name.Value] = name.Line
			f.value(keys[at], value)
		}
	}
	for _, k := range keys {
		_, here := seen[k.Name]
		_, beside := seen[k.With]
		if k.Required && !here {
			f.wrong(n, "%s is missing: %s", k.Name, k.Doc)
		}
		if k.With != "" && here && !beside {
			f.wrong(n, "%s is missing: %s", k.With, k.WithWhy)
		}
	}
}

// value checks what stands behind a key, and sets what it goes to. One value becomes a list of one, where a list may stand.
func (f *File) value(k Key, n *Node) {
	switch {
	case !k.List || n.Kind == Null:
		f.one(k, n)
	case n.Kind != List && n.Kind != Tagged && k.Form == Mapping:
		f.wrong(n, "%s: %s is no list (want a list, each entry after a dash)", k.Name, told(n))
	case n.Kind != List:
		only := *n
		*n = Node{Kind: List, Line: n.Line, Column: n.Column, Content: []*Node{&only}}
		f.entries(k, n.Content)
	case len(n.Content) == 0 && !k.Empty:
		f.wrong(n, "%s: the list is empty", k.Name)
	case len(n.Content) > maxList:
		f.wrong(n, "%s: the list has %d entries (want at most %d)", k.Name, len(n.Content), maxList)
	default:
		f.entries(k, n.Content)
	}
}

// entries checks a list. That a value comes twice is seen in what it was normalised to.
func (f *File) entries(k Key, list []*Node) {
	seen := map[string]bool{}
	into := reflect.ValueOf(k.Into).Elem()
	into.SetZero()
	for _, n := range list {
		before := len(f.all)
		entry := reflect.New(into.Type().Elem())
		k.Into = entry.Interface()
		f.one(k, n)
		into.Set(reflect.Append(into, entry.Elem()))
		if !n.single() || len(f.all) > before {
			continue
		}
		if seen[n.Value] {
			f.wrong(n, "%s: %s comes twice", k.Name, n.Value)
		}
		seen[n.Value] = true
	}
}

// one checks a single value.
func (f *File) one(k Key, n *Node) {
	before := len(f.all)
	switch {
	case n.Kind == Null:
		f.wrong(n, "%s: has no value", k.Name)
	case n.Kind == Tagged:
		f.wrong(n, "%s: the tag %s is not understood here", k.Name, plain(n.Value))
	case n.Kind == Alias:
		f.wrong(n, "%s: an alias is not understood here (write the value out)", k.Name)
	case k.Form == Mapping || k.Of != nil && n.Kind == Map:
		f.mapping(n, k.Of(k.Into))
	case k.Form == Pairs:
		f.pairs(k, n)
	case !n.single():
		f.wrong(n, "%s: %s is no single value (want %s)", k.Name, told(n), k.Want())
	default:
		if why := k.scalar(n); why != "" {
			f.wrong(n, "%s: %s", k.Name, why)
		} else if err := set(k.Into, n.Value); err != nil {
			f.wrong(n, "%s: %v", k.Name, err)
		}
	}
	if k.Check == nil || len(f.all) > before {
		return
	}
	if err := k.Check(k.Into); err != nil {
		f.wrong(n, "%s: %v", k.Name, err)
	}
}

// pairs checks a mapping of any names to single values.
func (f *File) pairs(k Key, n *Node) {
	if n.Kind != Map || len(n.Content) == 0 {
		f.wrong(n, "%s: %s is no mapping of names to values", k.Name, told(n))
		return
	}
	all := map[string]string{}
	for i := 0; i < len(n.Content); i += 2 {
		var name, value string
		f.one(Key{Name: k.Name, Form: Name, Into: &name}, n.Content[i])
		f.value(Key{Name: n.Content[i].Value, Form: Text, Into: &value}, n.Content[i+1])
		if _, twice := all[name]; twice {
			f.wrong(n.Content[i], "%s: the key %s comes twice", k.Name, name)
		}
		all[name] = value
	}
	*k.Into.(*map[string]string) = all
}

// maxList is how many values a list has at most.
const maxList = 100
