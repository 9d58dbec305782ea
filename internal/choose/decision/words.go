package decision

import (
	"lockbench/reports/format"
	"strconv"
	"strings"
)

// plural is a number and what it counts; more is what several are called, where it is not the same with an s.
func plural(n int, what string, more ...string) string {
	switch {
	case n == 1:
		return "1 " + what
	case len(more) > 0:
		return format.Count(n) + " " + more[0]
	}
	return format.Count(n) + " " + what + "s"
}

// figure writes three significant digits.
func figure(v float64) string {
	s := strconv.FormatFloat(round(v, 3), 'f', -1, 64)
	if whole, _, point := strings.Cut(s, "."); !point && len(whole) > 3 {
		n, _ := strconv.Atoi(whole)
		return format.Count(n)
	}
	return s
}

// round keeps so many significant digits.
func round(v float64, digits int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return r
}
