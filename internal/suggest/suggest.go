// Package suggest finds the known name that is nearest to a misspelt one.
package suggest

import (
	"fmt"
	"strings"
)

// longest is the maximum length of a name for which Nearest searches. The cost of a search is quadratic in the
// length.
const longest = 80

// Nearest returns the known name with the smallest edit distance from name. The distance may be at most half the
// length of name. A known name that begins with name is accepted at any distance.
func Nearest(name string, known []string) (string, bool) {
	if len(name) > longest {
		return "", false
	}
	best, least := "", 1+len(name)/2
	for _, k := range known {
		if d := edits(name, k); d < least || strings.HasPrefix(k, name) && name != "" && best == "" {
			best, least = k, min(d, least)
		}
	}
	return best, best != ""
}

// Meant returns a suffix for an error message that suggests the nearest known name, or "" if no known name is near.
func Meant(name string, known []string) string {
	if near, ok := Nearest(name, known); ok {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// edits returns the Levenshtein distance between two names.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
