// Package suggest finds what somebody may have meant.
package suggest

import (
	"fmt"
	"strings"
)

// longest is more than any name has: the work grows with it.
const longest = 80

// Nearest is the known name with the fewest edits, if they are few for its length.
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

// Meant is a hint at the nearest, to stand at the end of an error; empty where nothing is near.
func Meant(name string, known []string) string {
	if near, ok := Nearest(name, known); ok {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// edits is the Levenshtein distance.
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
