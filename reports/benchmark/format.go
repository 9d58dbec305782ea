package benchmark

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"lockbench/reports"
)

// none stands where there is no figure.
const none = "–"

// significant writes three significant digits without an exponent.
func significant(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return none
	}
	if v == 0 {
		return "0"
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64) // 9.999 has become 10.0 by now
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	if digits == 0 {
		return reports.Count(int(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'f', min(digits, 6), 64)
}

// times writes a ratio.
func times(v float64) string { return significant(v) + "×" }

// heading is a metric's title with its unit.
func heading(m Metric) string {
	switch m.Unit {
	case "":
		return m.Title
	case "us":
		return m.Title + ", µs"
	case "/s":
		return m.Title + " /s"
	}
	return m.Title + ", " + m.Unit
}

// span writes an interval; nothing is written where there were too few trials for one.
func span(low, high *float64) string {
	if low == nil || high == nil {
		return ""
	}
	return fmt.Sprintf("[%s, %s]", significant(*low), significant(*high))
}

func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey"):
		return reports.Count(n) + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return reports.Count(n) + " " + noun + "s"
}

// joined writes a list as people do.
func joined(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// duration writes nanoseconds with their unit, to three digits.
func duration(ns float64) string {
	ns, _ = strconv.ParseFloat(strconv.FormatFloat(ns, 'e', 2, 64), 64) // 999.9 µs has become 1 ms by now
	switch abs := math.Abs(ns); {
	case abs < 1e3:
		return significant(ns) + " ns"
	case abs < 1e6:
		return significant(ns/1e3) + " µs"
	case abs < 1e9:
		return significant(ns/1e6) + " ms"
	}
	return significant(ns/1e9) + " s"
}

// metricText writes a metric's value without its unit.
func metricText(m Metric, v float64) string {
	if m.Name == "starved" || m.Name == "bypassed" { // clients and grants are whole ones
		return trimZeros(significant(v))
	}
	return significant(v)
}

// setting writes a duration that somebody chose: 1 ms, not 1.00 ms.
func setting(ns int64) string {
	text := time.Duration(ns).String()
	i := strings.LastIndexFunc(text, unicode.IsDigit)
	if strings.ContainsFunc(text[:i+1], unicode.IsLetter) || i < 0 {
		return text
	}
	return text[:i+1] + " " + text[i+1:]
}

// rankName writes 0.999 as "99.9 %".
func rankName(rank float64) string {
	return strconv.FormatFloat(math.Round(rank*1e7)/1e5, 'f', -1, 64) + " %"
}

func when(t time.Time) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// clean keeps control characters, as a name or a server's error may hold, off the terminal.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return '·'
		}
		return c
	}, s)
}
