package selection

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/choose/decision"
	"lockbench/reports/charts"
	"lockbench/reports/format"
)

func TestWordsOfFigures(t *testing.T) {
	for got, want := range map[string]string{
		percent(0): "0 %", percent(1): "100 %", percent(.5): "50 %", percent(.0004): "< 0.1 %", percent(.9999): "> 99.9 %", percent(262.0 / 286): "91.6 %",
		chance(.25): "25 %", chance(2.34e-4): "2.3·10⁻⁴", chance(9.99e-5): "1.0·10⁻⁴", power(1e-10): "10⁻¹⁰",
		oneIn(9.5e-8): "one acquisition in 11,000,000", oneIn(.03): "3 % of the acquisitions",
		amount(3.1, "us"): "3.10 µs", amount(1840, "/s"): "1,840 /s", amount(2, ""): "2.00",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestDurationTicks: ticks are times that people set, and do not lie on one another.
func TestDurationTicks(t *testing.T) {
	s := charts.Scale{Low: 1e8, High: 6e10, From: 0, To: 560, Log: true}
	var texts []string
	last := -1e9
	for _, tick := range durationTicks(s, apart) {
		texts = append(texts, tick.Text)
		if s.At(tick.At)-last < apart {
			t.Errorf("%s lies on the tick before it", tick.Text)
		}
		last = s.At(tick.At)
	}
	if !slices.Contains(texts, "10 s") || !slices.Contains(texts, "1 min") {
		t.Error(texts)
	}
}

// TestOrigins: a need is assumed as a whole or in parts, and nothing that somebody stated is.
func TestOrigins(t *testing.T) {
	n := decision.Needs{Assumed: []string{"fair", "pauses.p50", "pauses.p99"}}
	for key, want := range map[string]string{"fair": "assumed", "pauses": "p50 and p99 assumed", "hold": "stated", "pause": "stated"} {
		if got := origin(n, key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	if got := within(15 * time.Second); got != "within 15 s" {
		t.Error(got)
	}
}

// TestBest: the best of a criterion is the greatest or the least, of those that have a value.
func TestBest(t *testing.T) {
	v := newView(sample())
	for name, want := range map[string]float64{"goodput": 1840, "cost": 3.1} {
		for _, k := range v.Criteria {
			if k.Name != name {
				continue
			}
			if best, known := v.bestOf(k, v.inOrder()); !known || best != want {
				t.Errorf("%s: %v, want %v", name, best, want)
			}
			if _, known := v.bestOf(k, []string{"setnx"}); known {
				t.Errorf("%s: the best of none is known", name)
			}
		}
	}
}

// TestTextFits: what a terminal shows is no wider than one, but for names that are wider themselves.
func TestTextFits(t *testing.T) {
	for name, r := range map[string]*decision.Report{"sample": sample(), "crowd": crowd(), "nothing": turnedOut(decision.NothingFits)} {
		got := summary(t, r)
		for line := range strings.Lines(got) {
			if n := format.Width(strings.TrimSpace(line)); n > 120 {
				t.Errorf("%s: a line of %d letters: %s", name, n, line)
			}
		}
		for _, k := range r.Criteria {
			if len(r.Decision.Survivors) > 0 && !strings.Contains(got, k.Title) {
				t.Errorf("%s: %s is missing", name, k.Title)
			}
		}
	}
}
