package selection

import (
	"encoding/json"
	"lockbench/reports/stats"
	"strings"
	"testing"
)

// TestScrubbed checks that passwords are removed from all texts, and that nothing else changes.
func TestScrubbed(t *testing.T) {
	const url = "redis://u:s3cret@h"
	v := 0.1 + 0.2
	r := &Report{Version: Version, Needs: Needs{Name: url, Weights: map[string]float64{url: 1}}, Options: []Option{{Name: url, Languages: map[string]string{url: url}}}}
	r.Sources = []Source{{Command: url, Notes: []string{url}, Seed: 1<<64 - 1}}
	r.Figures = []Figure{{Estimate: stats.Estimate{Low: &v, Values: []float64{v}}}}
	got, err := Scrubbed(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "s3cret") {
		t.Errorf("a password is left: %s", text)
	}
	before, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(string(before), "u:s3cret@", "***@"); string(text) != want {
		t.Errorf("more has changed than the passwords:\n%s\nwant\n%s", text, want)
	}
}
