package sim

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockbench/histories"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
)

// TestRecordIsRun records a trial in memory and in a file. Both histories must be the same.
func TestRecordIsRun(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	for _, l := range catalog.OnRedis() {
		if l.Name != "set-px" && l.Name != "redlock" && l.Name != "fenced" {
			continue
		}
		for _, f := range faults.All() {
			trial := faultTrial(l, f, counter(t), l.Deployment)
			if trial.Refused() != nil {
				continue
			}
			if diff := recordedTwice(t, trial); diff != "" {
				t.Errorf("%s under %s: file and memory differ: %s", l.Name, f.Name, diff)
			}
		}
	}
}

// recordedTwice records a trial both in a file and in memory, and returns the difference between the two histories.
func recordedTwice(t *testing.T, trial Trial) string {
	t.Helper()
	var file bytes.Buffer
	discarded, err := trial.Run(&file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := histories.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var lines []histories.Line
	for line, err := r.Next(); err != io.EOF; line, err = r.Next() {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	m, err := trial.Record()
	if err != nil || m.Discarded != discarded {
		return fmt.Sprintf("%v, discarded %q and %q", err, discarded, m.Discarded)
	}
	r.Header.Marks, lines = false, lines[1:] // a file begins with a mark at 0, which its header announces
	return cmp.Diff(r.Header, m.Header) + cmp.Diff(lines, m.Lines)
}
