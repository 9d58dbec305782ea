// Package needs reads what a team needs of a lock: from YAML, or by questions in a terminal. What nobody stated gets a default,
// and is listed as assumed, so that a recommendation can say on which of its own guesses it rests.
package requirements

import (
	"slices"
	"strings"

	"lockbench/internal/keyed"
	"lockbench/reports/selection"
)

// Known are the names that the caller knows, so that one which is misspelt is found where it stands. What is nil is not
// looked at.
type Known struct {
	Stores    []string // store, or store@deployment
	Languages []string
}

// Parse reads needs. The error has a line for each mistake, with the place where it stands.
func Parse(file string, whole []byte, known Known) (selection.Needs, error) {
	f, err := keyed.Read(file, "list of needs", whole, keys(known))
	if err != nil {
		return selection.Needs{}, err
	}
	n, err := complete(f)
	if err != nil {
		return selection.Needs{}, err
	}
	return n, nil
}

// complete makes needs of what was read: with defaults, and as far as they make sense together.
func complete(f *keyed.File) (selection.Needs, error) {
	var n selection.Needs
	if err := f.Root.Decode(&n); err != nil {
		f.Wrong(f.Root, "%v", err)
		return n, f.Err()
	}
	n.Instead, n.Language, n.Survives = orNil(n.Instead), orNil(n.Language), orNil(n.Survives)
	s := stated{f.Root}
	s.fill(&n)
	for _, l := range leaves("", keys(Known{})) {
		if !l.Required && l.path != "guards" && !s.has(l.path) { // nothing follows from what is said for people
			n.Assumed = append(n.Assumed, l.path)
		}
	}
	reader{f, s}.sense(n)
	return n, f.Err()
}

// orNil has one way to say that there is nothing in a list.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// leaf is a key with a value of its own, and the path that leads to it: hold.p99.
type leaf struct {
	keyed.Key
	path string
}

func leaves(prefix string, keys []keyed.Key) []leaf {
	var all []leaf
	for _, k := range keys {
		if k.Form == keyed.Mapping {
			all = append(all, leaves(prefix+k.Name+".", k.Of)...)
			continue
		}
		all = append(all, leaf{k, prefix + k.Name})
	}
	return all
}

// keyAt is the key that a path leads to. Paths stand in the program, and a test asks for each.
func keyAt(path string) (k keyed.Key) {
	of := keys(Known{})
	for _, step := range steps(path) {
		k = of[slices.IndexFunc(of, func(k keyed.Key) bool { return k.Name == step })]
		of = k.Of
	}
	return k
}

func steps(path string) []string { return strings.Split(path, ".") }
