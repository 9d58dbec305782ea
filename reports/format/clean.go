package format

import (
	"strings"
	"unicode"
)

// Hidden reports whether a character is not to be seen itself, but may steer a terminal, turn the direction of the text
// after it, or hide in a name.
func Hidden(c rune) bool {
	return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Clean shows a dot in place of every hidden character, such as may be in a name or in a server's error.
func Clean(s string) string {
	return strings.Map(func(c rune) rune {
		if Hidden(c) {
			return '·'
		}
		return c
	}, s)
}
