package selection

import (
	"net/url"
	"path"
	"strings"
	"unicode"
)

// link is the way from the report to a file of a source: the folder of the source, as seen from the report, and what lies
// in it. It is empty for anything but a clean relative path: the parts come from files that others may have written. A
// source may lie beside the report; what is said to be in a source never lies outside of it.
func link(source string, within ...string) string {
	below := strings.TrimLeft(source, "./")
	up, _ := strings.CutSuffix(source, below)
	if up != strings.Repeat("../", len(up)/3) {
		return ""
	}
	var steps []string
	for _, p := range append([]string{below}, within...) {
		if !isClean(p) {
			return ""
		}
		for step := range strings.SplitSeq(p, "/") {
			steps = append(steps, url.PathEscape(step))
		}
	}
	return up + strings.Join(steps, "/")
}

// isClean tells whether a path leads downwards, and nothing else: a scheme, a host or a way up are none of it.
func isClean(p string) bool {
	odd := func(c rune) bool { return c == ':' || c == '\\' || !unicode.IsPrint(c) }
	return p == path.Clean(p) && p != "." && p != ".." && !strings.HasPrefix(p, "../") && p[0] != '/' && !strings.ContainsFunc(p, odd)
}
