package judge

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/checker/oracle"
)

// TestViewer checks the HTML pages for the violations in the test histories (histories/corpus). Each exclusion
// violation must have a page, and other violations must have none. A page must be deterministic and load no external
// resources.
func TestViewer(t *testing.T) {
	drawn := 0
	for _, file := range corpus(t) {
		v, _, err := File(file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range v.Findings {
			if f.Witness == nil {
				continue
			}
			page, ok, err := oracle.Viewer(f.Property, f.Witness, v.Slack)
			exclusion := strings.HasSuffix(f.Property, "-exclusion")
			if err != nil || ok != exclusion || ok != (len(page) > 0) {
				t.Errorf("%s of %s: a page is %v, error %v", f.Property, filepath.Base(file), ok, err)
			}
			if !ok {
				continue
			}
			drawn++
			for range 20 { // draw the page several times: Porcupine returns results in random order, and two orders may agree by chance
				if again, _, _ := oracle.Viewer(f.Property, f.Witness, v.Slack); !bytes.Equal(page, again) {
					t.Fatalf("%s of %s: the page differs when it is drawn again", f.Property, filepath.Base(file))
				}
			}
			rest := strings.ReplaceAll(string(page), "http://www.w3.org/", "")
			for _, bad := range []string{"http://", "https://", "<link", "<img", "src=", "@import", "fetch(", "XMLHttpRequest"} {
				if strings.Contains(rest, bad) {
					t.Errorf("the page has %q", bad)
				}
			}
		}
	}
	if drawn < 8 {
		t.Errorf("only %d witnesses of exclusion", drawn)
	}
}

// TestNoViewerWithoutViolation checks that there is no page for operations that do not violate exclusion.
func TestNoViewerWithoutViolation(t *testing.T) {
	v, _, err := File("../../histories/corpus/violates-mutual-exclusion+lease-exclusion--two-holders.jsonl", Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := *v.Finding("mutual-exclusion").Witness
	w.Ops, w.To = w.Ops[:1], 0
	if _, ok, err := oracle.Viewer("mutual-exclusion", &w, v.Slack); ok || err != nil {
		t.Errorf("one hold is drawn as a violation (%v)", err)
	}
}
