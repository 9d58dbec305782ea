// Package yamlfile reads YAML and JSON files by a table of keys. Read stores the values of a file in the variables of the
// keys, or returns all mistakes with their positions. The table also gives the schema and the documentation. Its main type
// is Key.
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
	Mapping             // a mapping with a table of keys
	Placed              // a name, or name@deployment
	Pairs               // a mapping of names to single values
)

// Key is a key of a mapping: how its value is checked, the variable for it, and its documentation.
type Key struct {
	Name string
	Old  string // former name, which is refused
	Form Form
	// Into points to the variable for the value: a string, a number, a bool, a duration, an encoding.TextUnmarshaler, a
	// pointer to one of these, or a struct with Of. For a list it points to a slice of these, for Pairs to a map of strings.
	Into     any
	List     bool // several values; a single one needs no brackets
	Empty    bool // the list may be empty
	Required bool
	Min, Max float64       // of a number
	From, To time.Duration // of a duration
	Top      uint64        // the maximum of a whole number; the minimum is Min
	Values   []string      // the known names; nil: any clean word
	Instead  string        // a word that is accepted instead of a whole number
	// Of returns the keys of a mapping whose values go to into. The mapping may replace a single value.
	Of       func(into any) []Key
	With     string // another key that must be given too
	WithWhy  string
	Normally string // the default, for the documentation
	Doc      string
	// Check returns an error for a wrong value at into. For a list it is called for each entry.
	Check func(into any) error
}
