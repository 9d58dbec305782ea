// Package words writes numbers, lists and tables as they stand in reports, on the terminal and in Markdown: what comes from
// outside is made harmless for the place where it is to stand.
package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// None stands where there is no figure.
const None = "–"

// Count writes 1234567 as "1,234,567".
func Count(n int) string {
	s := strconv.Itoa(n)
	digits := strings.TrimPrefix(s, "-")
	sign := s[:len(s)-len(digits)]
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Significant writes three significant digits without an exponent.
func Significant(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return None
	}
	if v == 0 {
		return "0"
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64) // 9.999 has become 10.0 by now
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	if digits == 0 {
		return Count(int(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'f', min(digits, 6), 64)
}

// Times writes a ratio.
func Times(v float64) string { return Significant(v) + "×" }

// Span writes an interval; nothing is written where there were too few trials for one.
func Span(low, high *float64) string {
	if low == nil || high == nil {
		return ""
	}
	return fmt.Sprintf("[%s, %s]", Significant(*low), Significant(*high))
}

func Plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey"):
		return Count(n) + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return Count(n) + " " + noun + "s"
}

// Joined writes a list as people do.
func Joined(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// Duration writes nanoseconds with their unit, to three digits.
func Duration(ns float64) string {
	ns, _ = strconv.ParseFloat(strconv.FormatFloat(ns, 'e', 2, 64), 64) // 999.9 µs has become 1 ms by now
	switch abs := math.Abs(ns); {
	case abs < 1e3:
		return Significant(ns) + " ns"
	case abs < 1e6:
		return Significant(ns/1e3) + " µs"
	case abs < 1e9:
		return Significant(ns/1e6) + " ms"
	}
	return Significant(ns/1e9) + " s"
}

// Setting writes a duration that somebody chose: 1 ms, not 1.00 ms.
func Setting(ns int64) string {
	switch d := time.Duration(ns); {
	case d >= time.Hour && d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + " h"
	case d >= time.Minute && d%time.Minute == 0:
		return strconv.FormatInt(int64(d/time.Minute), 10) + " min"
	}
	text := time.Duration(ns).String()
	i := strings.LastIndexFunc(text, unicode.IsDigit)
	if strings.ContainsFunc(text[:i+1], unicode.IsLetter) || i < 0 {
		return text
	}
	return text[:i+1] + " " + text[i+1:]
}

// RankName writes 0.999 as "99.9 %".
func RankName(rank float64) string {
	return strconv.FormatFloat(math.Round(rank*1e7)/1e5, 'f', -1, 64) + " %"
}

func When(t time.Time) string {
	if t.IsZero() {
		return None
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// Clean keeps control characters off the terminal, as a name or a server's error may hold, and those that turn the
// direction of what follows.
func Clean(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) {
			return '·'
		}
		return c
	}, s)
}

// TrimZeros leaves no zeros at the end of a decimal fraction.
func TrimZeros(s string) string {
	for i := range s {
		if s[i] == '.' {
			for s[len(s)-1] == '0' {
				s = s[:len(s)-1]
			}
			if s[len(s)-1] == '.' {
				s = s[:len(s)-1]
			}
			break
		}
	}
	return s
}
