package checker

import (
	"encoding/json"
	"testing"
)

// TestEarlierWitness checks that a Witness written by an earlier version can be parsed.
func TestEarlierWitness(t *testing.T) {
	for text, want := range map[string]string{
		`{"sentence": "now", "key": "k0"}`: "now",
		`{"story": "then", "key": "k0"}`:   "then",
	} {
		var w Witness
		if err := json.Unmarshal([]byte(text), &w); err != nil || w.Sentence != want || w.Key != "k0" {
			t.Errorf("%s: %+v, %v", text, w, err)
		}
	}
}
