// Package requirements reads what a team needs of a lock: from YAML, or by questions in a terminal. What nobody stated gets a default,
// and is listed as assumed, so that a recommendation can say on which of its own guesses it rests.
package requirements

import (
	"slices"
	"strings"

	"lockbench/internal/choose/decision"
	"lockbench/internal/yamlfile"
)

// Known are the names that the caller knows, so that one which is misspelt is found where it stands. What is nil is not
// looked at.
type Known struct {
	Stores    []string // store, or store@deployment
	Languages []string
}

// Parse reads needs. The error has a line for each mistake, with the place where it stands.
func Parse(file string, whole []byte, known Known) (decision.Needs, error) {
	var n decision.Needs
	f, err := yamlfile.Read(file, "list of needs", whole, keys(&n, known))
	if err != nil {
		return decision.Needs{}, err
	}
	if err := complete(f, &n); err != nil {
		return decision.Needs{}, err
	}
	return n, nil
}

// complete adds the defaults to what was read, as far as it makes sense together.
func complete(f *yamlfile.File, n *decision.Needs) error {
	r := reader{f}
	r.fill(n)
	for _, l := range leaves("", Table()) {
		if !l.Required && l.path != "guards" && !f.Stated(l.path) { // nothing follows from what is said for people
			n.Assumed = append(n.Assumed, l.path)
		}
	}
	r.sense(*n)
	return f.Err()
}

// leaf is a key with a value of its own, and the path that leads to it: hold.p99.
type leaf struct {
	yamlfile.Key
	path string
}

func leaves(prefix string, keys []yamlfile.Key) []leaf {
	var all []leaf
	for _, k := range keys {
		if k.Form == yamlfile.Mapping {
			all = append(all, leaves(prefix+k.Name+".", k.Of(k.Into))...)
			continue
		}
		all = append(all, leaf{k, prefix + k.Name})
	}
	return all
}

// keyAt returns the key among all that a path leads to. Paths stand in the program, and a test asks for each.
func keyAt(all []yamlfile.Key, path string) yamlfile.Key {
	name, rest, more := strings.Cut(path, ".")
	k := all[slices.IndexFunc(all, func(k yamlfile.Key) bool { return k.Name == name })]
	if more {
		return keyAt(k.Of(k.Into), rest)
	}
	return k
}
