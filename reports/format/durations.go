package format

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Duration writes nanoseconds with their unit, to three digits.
func Duration[T ~int | ~int64 | ~float64](d T) string {
	ns, _ := strconv.ParseFloat(strconv.FormatFloat(float64(d), 'e', 2, 64), 64) // 999.9 µs has become 1 ms by now
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

// Milliseconds writes nanoseconds as a number of milliseconds without its unit, to three digits and four places at most.
func Milliseconds[T ~int | ~int64](ns T) string {
	if ns > 0 && ns < 1e5 {
		return strconv.FormatFloat(float64(ns)/1e6, 'f', 4, 64)
	}
	return Significant(float64(ns) / 1e6)
}

// Setting writes a configured duration in nanoseconds exactly: 1 ms, not 1.00 ms.
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

// Lasting writes a length of time in its largest whole unit: 12 s, 3 min, 2 h, 5 days.
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

// RankName writes 0.999 as "99.9 %".
func RankName(rank float64) string {
	return strconv.FormatFloat(math.Round(rank*1e7)/1e5, 'f', -1, 64) + " %"
}

// When writes a moment in UTC, to the second.
func When(t time.Time) string {
	if t.IsZero() {
		return None
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
