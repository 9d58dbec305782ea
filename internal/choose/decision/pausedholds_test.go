package decision

import (
	"lockbench/reports/selection"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lockbench/reports/run"
)

// overlappedOnce is a history with two holds during which the holder is paused. Only one of them overlaps with another
// client's hold.
const overlappedOnce = `{"lockbench":1}
{"client":0,"hold":1,"kind":"acquire","outcome":"ok","key":"k0","depth":1,"call":1,"return":2}
{"client":0,"kind":"inject","outcome":"ok","fault":"process-pause","call":3,"return":4}
{"client":1,"hold":2,"kind":"acquire","outcome":"ok","key":"k0","depth":1,"call":2,"return":5}
{"client":1,"hold":2,"kind":"release","outcome":"ok","key":"k0","call":6,"return":7}
{"client":0,"hold":1,"kind":"release","outcome":"refused","key":"k0","call":8,"return":9}
{"client":0,"hold":3,"kind":"acquire","outcome":"ok","key":"k0","depth":1,"call":10,"return":11}
{"client":0,"kind":"inject","outcome":"ok","fault":"process-pause","call":12,"return":13}
{"client":0,"hold":3,"kind":"release","outcome":"ok","key":"k0","call":14,"return":15}
`

// TestReadPaused checks that readPaused counts holds with a paused holder only in trials that test a lease of a candidate.
func TestReadPaused(t *testing.T) {
	dir := t.TempDir()
	var r run.Results
	cell := func(scenario, lock string, trials ...string) {
		c := scenario + "/" + lock + "/contend+process-pause"
		r.Measurements = append(r.Measurements, run.Measurement{Dir: c, Scenario: scenario, Lock: lock, Deployment: "single", TTLNS: 5e8})
		var o run.Observation
		for _, n := range trials {
			at := filepath.Join(dir, filepath.FromSlash(c), n)
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(at, "history.jsonl.zst"), []byte(overlappedOnce), 0o644); err != nil {
				t.Fatal(err)
			}
			o.Evidence = append(o.Evidence, run.Evidence{Dir: c + "/" + n, SHA256: n})
		}
		r.Cells = append(r.Cells, o)
	}
	cell("lease-500ms", "a-lock", "001", "003")
	cell("lease-500ms", "another", "001")
	cell("scenario", "a-lock", "001")
	e := gathering{options: []selection.Option{{Name: "a-lock", Kind: selection.ALock, Deployment: "single"}}}
	if err := e.readPaused(dir, selection.Source{ID: "R1"}, r); err != nil {
		t.Fatal(err)
	}
	if len(e.Paused) != 1 {
		t.Fatalf("%+v", e.Paused)
	}
	s := e.Paused[0]
	if s.Holds != 4 || s.Overlapped != 2 || s.Lock != "a-lock" || s.TTLNS != 5e8 || s.Source != "R1" || len(s.Histories) != 2 || s.Histories[1].SHA256 != "003" {
		t.Errorf("%+v", s)
	}
	if e.Evidence = numbered(e.Evidence); e.Paused[0].ID != "S1" {
		t.Errorf("its id is %q", e.Paused[0].ID)
	}
	if err := os.RemoveAll(filepath.Join(dir, "lease-500ms")); err != nil {
		t.Fatal(err)
	}
	if err := e.readPaused(dir, selection.Source{}, r); err == nil {
		t.Error("no error for missing histories")
	}
}

// TestConfirmedOfEvidence checks that a prediction is compared only with trials of the same lock and lease.
func TestConfirmedOfEvidence(t *testing.T) {
	a := AdviseLease(leaseInputs(selection.Fixed))
	if len(a.Points) != 3 {
		t.Fatalf("%d points to try", len(a.Points))
	}
	paused := func(lock string, ttl time.Duration, holds int) selection.PausedHolds {
		return selection.PausedHolds{Lock: lock, TTLNS: int64(ttl), Dir: LeaseScenario(ttl) + "/" + lock + "/contend+process-pause", Holds: holds, Overlapped: holds / 2, Source: "R1"}
	}
	a.confirm([]selection.PausedHolds{paused("another", a.Points[0].TTL, 10), paused("a-lock", a.Points[0].TTL+1, 20), paused("a-lock", a.Points[2].TTL, 30), paused("a-lock", a.Points[0].TTL, 40)})
	if len(a.Confirmed) != 2 || a.Confirmed[0].Pauses != 40 || !a.Confirmed[0].Agrees || a.Confirmed[1].Pauses != 30 || a.Confirmed[1].Agrees {
		t.Errorf("%+v", a.Confirmed)
	}
	if a.Confirmed[0].Overlaps != 20 {
		t.Error(a.Confirmed[0])
	}
}
