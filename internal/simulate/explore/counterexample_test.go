package explore

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/counterexample"
	"lockbench/workloads"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// examples lists the runs whose event list and timeline are stored as golden files in testdata.
var examples = []struct{ lock, fault, property string }{
	{"set-px", "holder-stall", "mutual-exclusion"},
	{"set-px", "holder-stall", "lease-exclusion"},
	{"set-px", "holder-stall", "owner-release"},
	{"set-px", "delayed-release", "resource-integrity"},
	{"redlock", "node-restart", "lease-exclusion"},
	{"redlock", "clock-forward", "resource-integrity"},
	{"redisson", "process-pause", "mutual-exclusion"},
	{"redisson", "process-pause", "resource-integrity"},
	{"setnx", "holder-kill", "recovery"},
	{"setnx", "holder-kill", "no-orphan"},
	{"fenced-counter", "failover", "fencing"},
	{"fenced", "failover", "lease-exclusion"},
	{"set-px-getdel", "pause-in-release", "mutual-exclusion"},
	{"set-px-lua", "pause-before-answer", "mutual-exclusion"},
	{"set-px-lua", "lost-reply", "mutual-exclusion"}, // the property holds in this run
}

// TestCounterexamples checks event lists and timelines against the golden files.
func TestCounterexamples(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	for _, c := range examples {
		name := c.lock + "." + c.fault + "." + c.property
		t.Run(name, func(t *testing.T) {
			r := runUnder(t, c.lock, c.fault)
			example := r.Example(c.property)
			got := example.Timeline(100) + "\n"
			for i, line := range example.Events() {
				got += fmt.Sprintf("%2d. %s\n", i+1, line)
			}
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got (-update rewrites the golden file):\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// runUnder runs a lock under a built-in fault.
func runUnder(t *testing.T, lock, fault string) *Run {
	t.Helper()
	l, err := lockNamed(lock)
	if err != nil {
		t.Fatal(err)
	}
	all := faults.All()
	f := all[slices.IndexFunc(all, func(f faults.Fault) bool { return f.Name == fault })]
	c, err := builtInFaultCase(l, f)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// builtInFaultCase returns a case that runs the lock under the built-in fault. Its fault plan is the same as in
// lockbench run.
func builtInFaultCase(l impls.Impl, f faults.Fault) (Case, error) {
	on := l.Deployment
	if f.On != nil {
		on = f.On(on)
	}
	p := f.Params(workloads.Defaults(), 0, on)
	if l.Lease > 0 {
		p.TTL = min(p.TTL, l.Lease)
	}
	c := Case{Lock: l.Name, Deployment: on, Workload: "counter", Params: p, LockParams: map[string]string{"wait": "backoff"},
		Plan: f.Plan(faults.Scene{TTL: p.TTL, Deployment: on, Processes: p.Processes})}
	_, err := c.Trial()
	return c, err
}

// TestEveryCounterexample runs every lock under every fault. It checks the event list and the timeline of each judged
// property.
func TestEveryCounterexample(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	checked := 0
	for _, l := range catalog.OnRedis() {
		for _, f := range faults.All() {
			if f.Plan == nil || (raced || testing.Short()) && len(l.Name)%3 != 0 {
				continue
			}
			c, err := builtInFaultCase(l, f)
			if err != nil {
				continue // this case is not simulated here; the tests of package sim cover it
			}
			t.Run(l.Name+"+"+f.Name, func(t *testing.T) {
				r, err := c.Run()
				if err != nil {
					t.Skip(err) // the fault affects only one of five servers
				}
				for _, finding := range r.Verdict.Findings {
					checkExample(t, r, finding.Property)
					checked++
				}
			})
		}
	}
	if checked < 100 {
		t.Errorf("only %d examples", checked)
	}
}

// checkExample checks the order, length and text of an example's events, and the width of its timeline.
func checkExample(t *testing.T, r *Run, property string) {
	t.Helper()
	example := r.Example(property)
	lines := example.Events()
	whole := strings.Join(lines, "\n")
	if len(lines) == 0 || len(lines) > counterexample.MostEvents+2 {
		t.Errorf("%s: %d events:\n%s", property, len(lines), whole)
	}
	last := -1.0
	for _, line := range lines {
		first, _, _ := strings.Cut(line, " ms ")
		if at, err := strconv.ParseFloat(first, 64); err == nil {
			if at < last {
				t.Errorf("%s: an event at %v ms comes after one at %v ms:\n%s", property, at, last, whole)
			}
			last = at
		}
	}
	for _, odd := range []string{"%!", "  .", "..", ",,", " ,", "4611686018427", "-0.0"} {
		if strings.Contains(strings.Join(lines[:len(lines)-1], "\n"), odd) {
			t.Errorf("%s: the text has %q:\n%s", property, odd, whole)
		}
	}
	if wit := r.Verdict.Finding(property).Witness; wit != nil && !strings.HasSuffix(whole, wit.Sentence) {
		t.Errorf("%s: the text does not end with the verdict:\n%s", property, whole)
	}
	for _, width := range []int{1, 80, 120} {
		timeline := example.Timeline(width)
		for _, line := range strings.Split(timeline, "\n") {
			if n := utf8.RuneCountInString(line); n > max(width, counterexample.MinWidth) {
				t.Errorf("%s: a line of %d characters, want at most %d:\n%s", property, n, max(width, counterexample.MinWidth), timeline)
			}
		}
	}
}

// TestGrantsAreShown checks that the event list contains the time of each operation in the violation example. For a
// release this is the time of the call, for any other operation the time of the return. Operations after the end of the
// violation are ignored.
func TestGrantsAreShown(t *testing.T) {
	r := runUnder(t, "set-px", "holder-stall")
	text := strings.Join(r.Example("lease-exclusion").Events(), "\n")
	witness := r.Verdict.Finding("lease-exclusion").Witness
	for _, op := range witness.Ops {
		when := op.Return
		if op.Kind == histories.Release {
			when = op.Call
		}
		if when <= witness.To && !strings.Contains(text, ms(when)) {
			t.Errorf("no %s by client %d at %s:\n%s", op.Kind, op.Client, ms(when), text)
		}
	}
}

// ms formats a time in milliseconds with one decimal place, as in event lists.
func ms(t time.Duration) string { return fmt.Sprintf("%.1f ms", float64(t)/float64(time.Millisecond)) }
