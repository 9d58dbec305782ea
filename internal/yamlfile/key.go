// Package yamlfile reads YAML and JSON files by a schema, which is a list of keys. Read stores the values of a file in
// the variables of the keys, or returns all mistakes with their positions. The JSON schema and the documentation are
// generated from the same keys. The main type is Key.
package yamlfile

import "time"

// Form is the kind of value that a key accepts, such as a duration.
type Form int

const (
	Text    Form = iota // a text of one line
	Name                // a word of lower-case letters, digits and dashes
	Whole               // a whole number
	Number              // any number, with or without decimals
	Span                // a duration, such as 5ms
	Choice              // one of the names in Key.Values
	Flag                // a boolean: true or false, without quotes, in upper or lower case
	Mapping             // a nested mapping; Key.Of returns the keys of the mapping
	Placed              // a name, optionally followed by @deployment
	Pairs               // a mapping of names to single values
)

// Key describes a key of a mapping: its valid values, the Go variable that receives its value, and its documentation.
type Key struct {
	Name string
	Old  string // former name of the key; a file with the former name is rejected with a hint at the new name
	Form Form
	// Into points to the variable for the value: a string, a number, a bool, a duration, an encoding.TextUnmarshaler,
	// or a pointer to one of these. For a Mapping it points to a struct, for a list to a slice, and for Pairs to a map
	// of strings.
	Into     any
	List     bool // whether the value is a list; a list with one entry needs no brackets
	Empty    bool // whether the list may be empty
	Required bool
	Min, Max float64       // smallest and largest valid number
	From, To time.Duration // shortest and longest valid duration
	Top      uint64        // largest valid value of a whole number; Min is the smallest
	Values   []string      // valid names; nil: any name of at most 40 lower-case letters, digits and dashes
	Instead  string        // word that is accepted in place of a whole number
	// Of is a function that returns the keys of a nested mapping. Its argument points to the variable that receives the
	// mapping. If Form is not Mapping, the file may contain a single value instead of the mapping.
	Of       func(into any) []Key
	With     string // name of another key that must be set too
	WithWhy  string
	Normally string // default value, as the documentation states it
	Doc      string
	// Check returns an error if a value is invalid. Its argument points to the value. For a list, Check is called for
	// each entry.
	Check func(into any) error
}
