package trial

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// TestCutAnywhere truncates recorded histories of correct locks at every byte, as a killed run or a full disk does. No
// truncated history may show a violation. If no operation of a history can be judged, every property must be undecided.
func TestCutAnywhere(t *testing.T) {
	for _, c := range []struct{ lock, workload, fault string }{
		{"set-px-lua", "counter", "none"}, {"redisson", "reentrant", "none"}, {"set-px-lua", "misuse", "none"},
	} {
		t.Run(c.lock+"-"+c.workload, func(t *testing.T) {
			t.Parallel()
			s := Setting{Run: "test", Servers: servers.Embedded, Params: workloads.Defaults()}
			s.Params.Clients, s.Params.Think, s.Params.Duration = 3, 250*time.Millisecond, 2*time.Second
			lock := lockNamed(t, c.lock)
			cells := Plan([]impls.Impl{lock}, []workloads.Workload{namedWorkload(c.workload)}, []faults.Fault{namedFault(c.fault)})
			_, out := s.tryOnce(t, cells[0])
			file, err := os.ReadFile(filepath.Join(out.Dir, "history.jsonl.zst"))
			if err != nil {
				t.Fatal(err)
			}
			z, err := zstd.NewReader(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer z.Close()
			text, err := z.DecodeAll(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			everyCut(t, file)
			everyCut(t, text)
			if marks := bytes.Count(text, []byte(`{"mark"`)); marks < 3 {
				t.Errorf("%d marks: the history shows little", marks)
			}
		})
	}
}

func everyCut(t *testing.T, file []byte) {
	judged := 0 // number of truncated histories in which operations were judged
	for cut := range file {
		r, err := histories.NewReader(bytes.NewReader(file[:cut]))
		switch {
		case cut < 16 && err != nil:
			continue // the file is too short to be recognised as a history
		case errors.Is(err, histories.ErrTruncated):
			continue
		case err != nil:
			t.Fatalf("cut at %d of %d: %v", cut, len(file), err)
		}
		v, err := judge.History(r.Header, r.Next, judge.Options{NoOracle: true})
		r.Close()
		if err != nil {
			t.Fatalf("cut at %d of %d: %v", cut, len(file), err)
		}
		if v.Counts.Operations > 0 {
			judged++
		}
		for _, f := range v.Findings {
			if f.Observed == checker.Violated || f.Observed != checker.Undecided && v.Counts.Operations == 0 {
				t.Fatalf("cut at %d of %d: %s is %s after %d operations: %+v", cut, len(file), f.Property, f.Observed, v.Counts.Operations, f.Witness)
			}
		}
	}
	if judged == 0 || judged == len(file) {
		t.Errorf("operations were judged in %d of %d cuts", judged, len(file))
	}
}
