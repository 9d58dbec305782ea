package serve

import (
	"fmt"
	"lockbench/reports/format"
	"math"
	"strconv"
	"strings"
	"time"
)

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return format.Count(n) + " " + noun + "s"
}

func when(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// lasting writes a duration as people say it: 12 s, 3 min, 2 h.
func lasting(d time.Duration) string {
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

// ms writes a time of a history as milliseconds, whole to the nanosecond: it can be read back.
func ms(d time.Duration) string {
	s := fmt.Sprintf("%d.%06d", d/time.Millisecond, d%time.Millisecond)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// at writes a time of a history as milliseconds, to the microsecond, for people.
func at(d time.Duration) string { return ms(d.Round(time.Microsecond)) }

// span writes a length of time to three digits.
func span(d time.Duration) string {
	units := []struct {
		name string
		of   time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}}
	for _, u := range units {
		if d >= u.of {
			return three(float64(d)/float64(u.of)) + " " + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + " ns"
}

func three(v float64) string {
	digits := max(0, 2-int(math.Floor(math.Log10(max(math.Abs(v), 1e-9)))))
	s := strconv.FormatFloat(v, 'f', min(digits, 6), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
