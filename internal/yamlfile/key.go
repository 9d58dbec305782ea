// Package yamlfile reads YAML by a table of keys. A file goes in; its values come out in the variables of the keys, or all
// mistakes with their places. The table also makes the schema and the documentation.
package yamlfile

import "time"

// Form is the kind of value of a key.
type Form int

const (
	Text    Form = iota // a line
	Name                // a clean word
	Whole               // a whole number
	Number              // any number
	Span                // a duration
	Choice              // one of some words
	Flag                // true or false
	Mapping             // a mapping with a table of keys
	Placed              // a name, or name@deployment
	Pairs               // any names, each with a single value
)

// Key is a key of a mapping: how its value is checked, where it goes, and its documentation.
type Key struct {
	Name string
	Old  string // former name, which is refused
	Form Form
	// Into points to the variable that the value goes to: a string, a number, a bool, a duration, an encoding.TextUnmarshaler, a
	// pointer to one of these, or a struct with Of; of a list, a slice of these; of Pairs, a map of strings.
	Into     any
	List     bool // several; one alone may stand without brackets
	Empty    bool // of a list: it may have no entries
	Required bool
	Min, Max float64       // of a number
	From, To time.Duration // of a duration
	Top      uint64        // of a whole number: at most; the least is Min
	Values   []string      // to choose from; nil: any clean word
	Instead  string        // a word that may stand in the place of a whole number
	// Of returns the keys of a mapping, which go to what into points to. The mapping may stand in place of a single value.
	Of       func(into any) []Key
	With     string // another key, which has to stand beside this one
	WithWhy  string
	Normally string // the default, as the documentation has it
	Doc      string
	// Check refuses a valid value that into points to; of a list, each entry.
	Check func(into any) error
}
