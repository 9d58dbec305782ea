// Package yamlfile reads YAML and JSON files by a schema, which is a list of keys. Read stores the values of a file in the
// variables of the keys, or returns all mistakes with their positions. The JSON schema and the documentation are derived from
// the same keys. Its main type is Key.
package yamlfile

import "time"

// Form is the kind of value of a key.
type Form int

const (
	Text    Form = iota // one line of text
	Name                // a word of small letters, digits and dashes
	Whole               // a whole number
	Number              // any number
	Span                // a duration
	Choice              // one of Values
	Flag                // true or false
	Mapping             // a mapping with its own list of keys
	Placed              // a name, or name@deployment
	Pairs               // a mapping of names to single values
)

// Key describes a key of a mapping: the valid values, the variable for the value, and the documentation.
type Key struct {
	Name string
	Old  string // former name, which is refused with a hint at the new one
	Form Form
	// Into points to the variable for the value: a string, a number, a bool, a duration, an encoding.TextUnmarshaler, a
	// pointer to one of these, or a struct with Of. For a list it points to a slice of these, for Pairs to a map of strings.
	Into     any
	List     bool // whether the key takes several values; a single value needs no brackets
	Empty    bool // whether the list may be empty
	Required bool
	Min, Max float64       // bounds of a number
	From, To time.Duration // bounds of a duration
	Top      uint64        // maximum of a whole number, whose minimum is Min
	Values   []string      // known names; nil: any clean word
	Instead  string        // word that is accepted instead of a whole number
	// Of returns the keys of a mapping whose values go to into. The mapping may replace a single value.
	Of       func(into any) []Key
	With     string // name of another key that must also be given
	WithWhy  string
	Normally string // default in the documentation
	Doc      string
	// Check returns an error for a wrong value at into. For a list it is called for each entry.
	Check func(into any) error
}
