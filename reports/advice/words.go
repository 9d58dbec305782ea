package advice

import (
	"strconv"
	"strings"
)

// plural is a number and what it counts; more is what several are called, where it is not the same with an s.
func plural(n int, what string, more ...string) string {
	switch {
	case n == 1:
		return "1 " + what
	case len(more) > 0:
		return count(n) + " " + more[0]
	}
	return count(n) + " " + what + "s"
}

// count writes a whole number with commas.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// figure writes three significant digits.
func figure(v float64) string {
	s := strconv.FormatFloat(round(v, 3), 'f', -1, 64)
	if whole, _, point := strings.Cut(s, "."); !point && len(whole) > 3 {
		n, _ := strconv.Atoi(whole)
		return count(n)
	}
	return s
}

// round keeps so many significant digits.
func round(v float64, digits int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return r
}
