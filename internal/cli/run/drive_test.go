package run

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/impls/catalog"
	"lockbench/internal/cli/choice"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// planned returns the runner for a run with the flags f. Flags that are not set have their defaults.
func planned(t *testing.T, f flags) *Runner {
	t.Helper()
	f.trials, f.params = max(1, f.trials), workloads.Defaults()
	cells, err := f.cells(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &Runner{flags: &f, cells: cells, stderr: io.Discard, setting: trial.Setting{Params: f.params}}
}

// TestTrialsUnderFaults checks the number of trials of a cell. A cell under a fault that the user names has four
// trials, unless the user sets the number. Every other cell has one trial.
func TestTrialsUnderFaults(t *testing.T) {
	for args, want := range map[string][2]int{"": {1, 1}, "--faults none": {1, 1}, "--faults none,process-pause": {1, 4}, "--faults process-pause --trials 2": {2, 2}} {
		cmd := Command()
		f := flags{params: workloads.Defaults()}
		cmd.ResetFlags()
		f.define(cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if err := f.check(cmd); err != nil {
			t.Fatal(err)
		}
		fault := faults.All()[1]
		if got := [2]int{f.trialsOf(trial.Cell{Fault: faults.None()}), f.trialsOf(trial.Cell{Fault: fault})}; got != want {
			t.Errorf("%q: %v trials without and with a fault, want %v", args, got, want)
		}
		lock := catalog.Own()[1]
		f.noControls, f.locks = true, []string{lock.Name}
		r := Runner{flags: &f, cells: []trial.Cell{{Lock: lock, Fault: faults.None()}, {Lock: lock, Fault: fault}}}
		measured, beside := r.classes()
		n := len(measured.of)
		for _, p := range beside {
			n += len(p.of)
		}
		if n != want[0]+want[1] {
			t.Errorf("%q: %d trials are planned, want %d", args, n, want[0]+want[1])
		}
	}
}

// TestClasses checks that no trial is lost. Trials whose figures are compared must run one at a time. Other trials must run
// concurrently.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		name     string
		flags    flags
		measured []string // workloads of the trials whose figures are compared; nil: all workloads; "-": none
		slots    int      // number of trials that this process runs at the same time besides; 0: several a core
	}{
		{"default", flags{}, []string{"counter", "flash-sale", "flash-sale-gated", "write-fenced"}, 0},
		{"thorough", flags{thorough: true}, []string{"alone", "contend", "counter", "flash-sale", "flash-sale-gated", "inventory", "misuse", "reentrant", "try", "write-fenced"}, 0},
		{"named", flags{workloads: []string{"inventory", "misuse"}}, []string{"inventory", "misuse"}, 0},
		{"faults", flags{faults: []string{"process-pause"}}, []string{"-"}, 0},
		{"jobs", flags{jobs: 4}, []string{"-"}, 4},
		{"one job", flags{jobs: 1}, nil, 1},
		{"own servers", flags{servers: choice.Servers{How: servers.External}}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.flags.trials = 2
			r := planned(t, c.flags)
			measured, beside := r.classes()
			var names []string
			for _, w := range measured.of {
				if r.concurrent(w.cell) {
					t.Errorf("%s: its trials run beside others", w.cell)
				}
				if !slices.Contains(names, w.cell.Workload.Name) {
					names = append(names, w.cell.Workload.Name)
				}
			}
			slices.Sort(names)
			n := len(measured.of)
			for _, p := range beside {
				n += len(p.of)
				if len(p.of) > 0 && p.most(4*runtime.NumCPU()) < runtime.NumCPU() {
					t.Errorf("%d trials beside each other", p.most(4*runtime.NumCPU()))
				}
			}
			if n != 2*len(r.cells) {
				t.Errorf("%d trials of %d cells", n, len(r.cells))
			}
			switch {
			case r.slots() != c.slots && c.slots > 0 || r.slots() < runtime.NumCPU() && c.slots == 0:
				t.Errorf("%d slots, want %d", r.slots(), c.slots)
			case c.measured == nil && len(measured.of) != n:
				t.Errorf("%d of %d trials are in the first part, want all", len(measured.of), n)
			case c.measured != nil && c.measured[0] == "-" && len(measured.of) > 0:
				t.Errorf("%d trials under faults run one at a time", len(measured.of))
			case c.measured != nil && c.measured[0] != "-" && !slices.Equal(names, c.measured):
				t.Errorf("one at a time: %v, want %v", names, c.measured)
			}
		})
	}
}

// TestDefaultCells checks which trials run by default. Every lock must be tested. Workloads that only measure performance
// must be omitted, because they do not check further properties.
func TestDefaultCells(t *testing.T) {
	r := planned(t, flags{})
	for _, l := range catalog.Own() {
		if !slices.ContainsFunc(r.cells, func(c trial.Cell) bool { return c.Lock.Name == l.Name && c.Workload.Name == "counter" }) {
			t.Errorf("%s is not run", l.Name)
		}
	}
	if i := slices.IndexFunc(r.cells, func(c trial.Cell) bool { return c.Workload.Figures }); i >= 0 {
		t.Errorf("%s is run, and adds no verdict", r.cells[i])
	}
}

// TestLine checks that the progress line shows the finished trials, the estimated time left, unexpected results, and
// the running trial.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // virtual time does not advance during this test, so the durations are exact
		counter := workloads.All()[0]
		w := work{cell: trial.Cell{Lock: catalog.Own()[1], Workload: counter, Fault: faults.None()}}
		p := &progress{total: 40, cost: func(work) time.Duration { return time.Second }, all: 40 * time.Second, began: time.Now().Add(-10 * time.Second)}
		if got := p.line(); strings.Contains(got, "left") {
			t.Errorf("a time is estimated before any trial ended: %s", got)
		}
		p.done, p.spent, p.unexpected = 10, 10*time.Second, 1
		p.running = []work{w, w}
		want := fmt.Sprintf("10 of 40 trials, 1 not as expected, about 30 s left: %s and 1 more", w.cell)
		if got := p.line(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
