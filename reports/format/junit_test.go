package format

import (
	"strings"
	"testing"
)

// TestJUnit checks the XML of a report with every kind of result. Texts in the XML must be escaped.
func TestJUnit(t *testing.T) {
	var report JUnit
	report.Suite("fenced/counter").Add(JUnitCase{Class: "fenced", Name: "lease-exclusion", Output: "2 trials"})
	report.Suite("broken/counter").Add(JUnitCase{Class: "broken", Name: "mutual-exclusion",
		Failure: &JUnitMessage{Message: "violated, and <expected> to hold", Type: "FAIL", Text: "two holders & more"}})
	report.Suite("broken/counter").Add(JUnitCase{Class: "broken", Name: "progress", Error: &JUnitMessage{Message: "inconclusive"}})
	report.Suite("fenced/counter").Add(JUnitCase{Class: "fenced", Name: "reentrancy", Skipped: &JUnitMessage{Message: "not applicable"}})
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="fenced/counter" tests="2" failures="0" errors="0" skipped="1">
    <testcase classname="fenced" name="lease-exclusion">
      <system-out>2 trials</system-out>
    </testcase>
    <testcase classname="fenced" name="reentrancy">
      <skipped message="not applicable"></skipped>
    </testcase>
  </testsuite>
  <testsuite name="broken/counter" tests="2" failures="1" errors="1" skipped="0">
    <testcase classname="broken" name="mutual-exclusion">
      <failure message="violated, and &lt;expected&gt; to hold" type="FAIL">two holders &amp; more</failure>
    </testcase>
    <testcase classname="broken" name="progress">
      <error message="inconclusive"></error>
    </testcase>
  </testsuite>
</testsuites>
`
	var out strings.Builder
	if err := report.Write(&out); err != nil || out.String() != want {
		t.Errorf("%v, got:\n%s", err, out.String())
	}
}
