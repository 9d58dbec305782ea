package suites

import (
	"testing"

	"lockbench/internal/keyed"
	"lockbench/internal/keyed/keyedtest"
)

// TestDocs holds the tables of keys to those by which files are read, and the example to being one.
func TestDocs(t *testing.T) {
	example := keyedtest.Docs(t, "../../../docs/benchmarks.md", map[string][]keyed.Key{"a suite": suiteKeys(Known{}),
		"a section": sectionKeys(Known{}), "a lock": lockKeys(Known{}), "a threshold": thresholdKeys()}, *update)
	if _, err := Parse("example.yaml", example, Known{}); err != nil {
		t.Error(err)
	}
}
