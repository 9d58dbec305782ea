package selection

import (
	"strings"
	"testing"

	"lockbench/reports/format"
)

func TestWordsOfFigures(t *testing.T) {
	for got, want := range map[string]string{
		chance(0): "0 %", chance(.25): "25 %", chance(2.34e-4): "2.3·10⁻⁴", chance(9.99e-5): "1.0·10⁻⁴", chance(1e-10): "1.0·10⁻¹⁰",
		amount(3.1, "us"): "3.10 µs", amount(1840, "/s"): "1,840 /s", amount(2, ""): "2.00",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestOrigins checks that origin returns whether a requirement was stated, assumed or partly assumed.
func TestOrigins(t *testing.T) {
	n := Needs{Assumed: []string{"fair", "pauses.p50", "pauses.p99"}}
	for key, want := range map[string]string{"fair": "assumed", "pauses": "p50 and p99 assumed", "hold": "stated", "pause": "stated"} {
		if got := n.origin(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

// TestBest checks that the best value of a criterion is the highest or lowest value among the candidates that were not
// eliminated.
func TestBest(t *testing.T) {
	v := newView(sample())
	for _, k := range v.Report.Criteria {
		want := map[string]float64{"goodput": 1840, "handoff": 3.1, "cost": 3.1, "recovery": 1.02}[k.Name]
		if best, known := v.best(k); !known || best != want {
			t.Errorf("%s: %v, want %v", k.Name, best, want)
		}
	}
	if _, known := newView(turnedOut(NothingFits)).best(v.Report.Criteria[0]); known {
		t.Error("a best value without survivors")
	}
}

// TestTextFits checks that no line is wider than 100 columns.
func TestTextFits(t *testing.T) {
	for name, r := range map[string]*Report{"sample": sample(), "crowd": crowd(), "nothing": turnedOut(NothingFits)} {
		got := summary(t, r)
		for line := range strings.Lines(got) {
			if n := format.Width(strings.TrimSpace(line)); n > 100 {
				t.Errorf("%s: a line of %d columns: %s", name, n, line)
			}
		}
		for _, k := range r.Criteria {
			if len(r.Decision.Survivors) > 0 && !strings.Contains(got, k.Title) {
				t.Errorf("%s: %s is missing", name, k.Title)
			}
		}
	}
}
