// Package format writes numbers, durations, lists and tables for pages, Markdown and the terminal. It also escapes untrusted
// text. The type Lines collects text for the terminal.
package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// None is the text for a missing value.
const None = "–"

// Count formats an integer with commas: 1,234,567.
func Count(n int) string { return humanize.Comma(int64(n)) }

// Significant formats a number with three significant digits and without an exponent.
func Significant(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return None
	}
	if v == 0 {
		return "0"
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64) // round first, because 9.999 becomes 10.0
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	if digits == 0 {
		return Count(int(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'f', min(digits, 6), 64)
}

// Short formats a number with at most three significant digits: 0.5, not 0.500.
func Short(v float64) string { return TrimZeros(Significant(v)) }

// TrimZeros removes the zeros at the end of a decimal fraction.
func TrimZeros(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Times formats a ratio, as in "1.50×".
func Times(v float64) string { return Significant(v) + "×" }

// Percent formats a fraction as a percentage with at most one decimal. Fractions near 0 or 1 are written as "< 0.1 %"
// or "> 99.9 %".
func Percent(part float64) string {
	switch {
	case math.IsNaN(part) || math.IsInf(part, 0):
		return None
	case part > 0 && part < .001:
		return "< 0.1 %"
	case part < 1 && part > .999:
		return "> 99.9 %"
	}
	return TrimZeros(strconv.FormatFloat(100*part, 'f', 1, 64)) + " %"
}

// Gibibytes formats a number of bytes in GiB. It returns "" for 0, because 0 means unknown.
func Gibibytes(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return Significant(float64(bytes)/(1<<30)) + " GiB"
}

// Span formats an interval. It returns "" if a bound is missing.
func Span(low, high *float64) string {
	if low == nil || high == nil {
		return ""
	}
	return fmt.Sprintf("[%s, %s]", Significant(*low), Significant(*high))
}

// Plural formats a number and a noun: 2 keys, 1 process, 3 histories. The last argument is an irregular plural, if any.
func Plural(n int, noun string, irregular ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(irregular) > 0:
		noun = irregular[0]
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"):
		noun += "es"
	case strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return Count(n) + " " + noun
}

// Often formats how many times something happened: once, 12 times.
func Often(n int) string {
	if n == 1 {
		return "once"
	}
	return Count(n) + " times"
}

// Few joins texts. If there are more than three, it joins the first three and adds the number of the remaining texts.
func Few(texts []string, between string) string {
	const shown = 3
	if len(texts) > shown {
		return strings.Join(texts[:shown], between) + fmt.Sprintf(" and %d more", len(texts)-shown)
	}
	return strings.Join(texts, between)
}

// Joined joins names as in a sentence: a, b and c.
func Joined(parts []string) string { return english.WordSeries(parts, "and") }

// Duration formats nanoseconds with a suitable unit and three significant digits.
func Duration[T ~int | ~int64 | ~float64](d T) string {
	ns, _ := strconv.ParseFloat(strconv.FormatFloat(float64(d), 'e', 2, 64), 64) // round first, because 999.9 µs becomes 1 ms
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

// Milliseconds formats nanoseconds in milliseconds, without the unit. A positive time below one microsecond is
// "<0.001".
func Milliseconds[T ~int | ~int64](ns T) string {
	switch {
	case ns > 0 && ns < 1e3:
		return "<0.001"
	case ns > 0 && ns < 1e5:
		return strconv.FormatFloat(float64(ns)/1e6, 'f', 3, 64)
	}
	return Significant(float64(ns) / 1e6)
}

// Setting formats a configured duration in nanoseconds exactly and without padding: 1 ms, not 1.00 ms.
func Setting(ns int64) string {
	switch d := time.Duration(ns); {
	case d >= time.Hour && d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + " h"
	case d >= time.Minute && d%time.Minute == 0:
		return strconv.FormatInt(int64(d/time.Minute), 10) + " min"
	}
	text := time.Duration(ns).String()
	number := strings.TrimRightFunc(text, unicode.IsLetter)
	if strings.ContainsFunc(number, unicode.IsLetter) {
		return text
	}
	return number + " " + text[len(number):]
}

// Lasting formats a length of time, rounded down to seconds, minutes, hours or days. Examples: 12 s, 3 min, 2 h, 5
// days.
func Lasting(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days"
}

// RankName formats a percentile rank: 0.999 as "99.9 %".
func RankName(rank float64) string {
	return strconv.FormatFloat(math.Round(rank*1e7)/1e5, 'f', -1, 64) + " %"
}

// When formats a time in UTC, to the second.
func When(t time.Time) string {
	if t.IsZero() {
		return None
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
