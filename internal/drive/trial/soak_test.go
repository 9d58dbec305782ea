package trial

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

var summary = flag.String("summary", "", "write the results of the soak to this file")

// soakAtOnce is the number of concurrent trials. It is large because trials spend most of their time waiting.
const soakAtOnce = 14

// soakCell holds the results of trials of one cell: a combination of lock, deployment, workload and fault. Each trial
// has a different seed.
type soakCell struct {
	Cell
	trials int

	mu        sync.Mutex
	done      int
	discarded int // number of discarded attempts
	abandoned int // number of trials whose attempts were all discarded
	why       string
	longest   time.Duration
	server    string
	tallies   []*tally // one tally for each property with an expectation
}

// tally counts the results of one property over all trials of a cell.
type tally struct {
	property  string
	expected  histories.Expected
	met       int // number of trials with the result pass or xfail
	not       int // number of trials with the result FAIL or xpass
	undecided int
	absent    int // number of trials with the result not applicable
}

// applicable returns the number of trials in which the property was applicable.
func (y *tally) applicable() int { return y.met + y.not + y.undecided }

// TestSoak runs many trials with faults. Four locks (see soakCells) run under every fault under which a property is
// expected to hold. Every lock runs under each fault that is expected to violate a property. TestSoak fails after any
// FAIL. It also fails if more than one in twenty expected violations is not detected (xpass).
func TestSoak(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("LOCKBENCH_SOAK"))
	if err != nil || n < 1 {
		t.Skip("LOCKBENCH_SOAK is not set to the number of trials of each lock: make soak runs 500, for half an hour or more")
	}
	needRedis(t)
	own, err := OwnWorker()
	if err != nil {
		t.Fatal(err)
	}
	s := Setting{Run: "soak", Servers: servers.Local, Params: workloads.Defaults(), Worker: own, Self: own[0]}
	cells, start := soakCells(n), time.Now()
	kept := &keeping{dir: filepath.Join(os.TempDir(), fmt.Sprintf("soak-%d", os.Getpid()))}
	s.soak(t, cells, n, kept)
	for _, c := range cells {
		if c.abandoned > max(1, c.trials/20) {
			t.Errorf("%s: all attempts of %d of %d trials were discarded, the last because %s", c, c.abandoned, c.trials, c.why)
		}
		for _, y := range c.tallies {
			if why := y.complaint(); why != "" {
				t.Errorf("%s: %s; see %s", c, why, kept.dir)
			}
		}
	}
	if why := tooManyXPass(cells); why != "" {
		t.Error(why)
	}
	text := soakSummary(cells, n, start)
	t.Log("\n" + text)
	if *summary != "" {
		if err := os.WriteFile(*summary, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// soak runs trials of all cells in rounds. Each round runs one trial of every cell.
func (s Setting) soak(t *testing.T, cells []*soakCell, n int, kept *keeping) {
	type work struct {
		cell *soakCell
		n    int
	}
	todo := make(chan work)
	var workers sync.WaitGroup
	root, begun := t.TempDir(), time.Now()
	limit, _ := time.ParseDuration(os.Getenv("LOCKBENCH_SOAK_FOR")) // time after which no trial starts; "": no limit
	for range soakAtOnce {
		workers.Go(func() {
			for w := range todo {
				if err := s.soakOnce(t, w.cell, filepath.Join(root, filepath.FromSlash(w.cell.Dir()), fmt.Sprint(w.n)), w.n, kept); err != nil {
					t.Errorf("%s, seed %d: %v", w.cell, w.n+1, err)
				}
			}
		})
	}
	for i := range n {
		if limit > 0 && time.Since(begun) > limit {
			break
		}
		for _, c := range cells {
			if i < c.trials {
				todo <- work{c, i}
			}
		}
		fmt.Fprintf(os.Stderr, "soak: seed %d of %d begun, %v\n", i+1, n, time.Since(begun).Round(time.Second))
	}
	close(todo)
	workers.Wait()
}

// soakOnce runs one trial of a cell. It keeps the history if a result is unexpected.
func (s Setting) soakOnce(t *testing.T, c *soakCell, dir string, n int, kept *keeping) error {
	defer os.RemoveAll(dir)
	start := time.Now()
	out, err := s.Try(t.Context(), c.Cell, dir, n, new(atomic.Int64))
	took := time.Since(start)
	all, _ := filepath.Glob(filepath.Join(dir, "*", "discarded.json"))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discarded += len(all)
	for _, file := range all {
		c.why = voidReason(file)
	}
	switch {
	case err != nil && len(all) == attempts:
		c.abandoned++
		return nil
	case err != nil:
		return err
	}
	c.done++
	c.longest, c.server = max(c.longest, took), out.Server
	odd := len(out.Verdict.Oracle.Disagreements) > 0
	for _, f := range out.Verdict.Findings {
		if y := c.tallyOf(f.Property, out.Header.Expectation(f.Property).Expected); y != nil {
			odd = y.add(f) || odd
		}
	}
	if odd {
		kept.keep(out.Dir, fmt.Sprintf("%s/seed-%d", c.Dir(), n+1))
	}
	if len(out.Verdict.Oracle.Disagreements) > 0 {
		return fmt.Errorf("the judges disagree: %s", out.Verdict.Oracle.Disagreements)
	}
	return nil
}

// voidReason returns the reason why a trial was discarded. It reads the reason from a file.
func voidReason(file string) string {
	var discarded struct{ Reason string }
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &discarded)
	}
	if err != nil {
		return err.Error()
	}
	return discarded.Reason
}

// tallyOf returns the tally of a property, and creates the tally if necessary. It returns nil if the property has no
// expectation.
func (c *soakCell) tallyOf(property string, expected histories.Expected) *tally {
	if expected == histories.Unspecified {
		return nil
	}
	for _, y := range c.tallies {
		if y.property == property {
			return y
		}
	}
	y := &tally{property: property, expected: expected}
	c.tallies = append(c.tallies, y)
	return y
}

// add counts the result of one trial and reports whether the result is unexpected or inconclusive.
func (y *tally) add(f checker.Finding) (odd bool) {
	switch checker.ResultOf(y.expected, f.Observed) {
	case checker.Pass, checker.XFail:
		y.met++
		return false
	case checker.NoExpectation:
		y.absent++
		return false
	case checker.Inconclusive:
		y.undecided++
	default:
		y.not++
	}
	return true
}

// complaint returns a failure message if the tally has too many unexpected or undecided results. Otherwise it returns
// "".
func (y *tally) complaint() string {
	switch {
	case y.expected == histories.ToHold && y.not > 0:
		return fmt.Sprintf("%s was expected to hold and violated in %d of %d trials", y.property, y.not, y.applicable())
	case y.expected == histories.ToHold && y.undecided > max(1, y.applicable()/20):
		return fmt.Sprintf("%s was expected to hold and undecided in %d of %d trials", y.property, y.undecided, y.applicable())
	case y.expected == histories.ToBeViolated && y.not > max(1, y.applicable()/20):
		return fmt.Sprintf("%s was expected to be violated, which %d of %d trials did not detect", y.property, y.not, y.applicable())
	}
	return ""
}

// tooManyXPass returns a failure message if too many expected violations were not detected. It adds up the results of
// all cells, because one cell has too few trials to estimate a rate.
func tooManyXPass(cells []*soakCell) string {
	xpass, all := 0, 0
	for _, c := range cells {
		for _, y := range c.tallies {
			if y.expected == histories.ToBeViolated {
				xpass, all = xpass+y.not, all+y.applicable()
			}
		}
	}
	if xpass > max(1, all/20) {
		return fmt.Sprintf("%d of %d known defects were not detected", xpass, all)
	}
	return ""
}

// soakCells returns the cells (combinations of lock, workload and fault) of a soak test, with their numbers of trials. Each of
// four locks gets n trials, divided among the faults under which a property is expected to hold. Each cell with an expected
// violation gets n/5 trials.
func soakCells(n int) []*soakCell {
	best := []string{"set-px-lua", "redisson", "redlock", "fenced"}
	all := []*soakCell{underSentinels(n)} // the Sentinel cell comes first, because its trials take longest
	for _, l := range catalog.Own() {
		if l.Store != "" && stores.Missing(l.Store) != nil {
			continue // the store of the lock is not installed; in CI, another test fails in this case
		}
		var holding []*soakCell
		cells := faultyCells(l)
		for _, c := range cells {
			if slices.Contains(best, l.Name) && c.expects(histories.ToHold) {
				holding = append(holding, c)
			}
		}
		for i, c := range holding {
			c.trials = n / len(holding)
			if i < n%len(holding) {
				c.trials++
			}
		}
		for _, c := range cells {
			if c.expects(histories.ToBeViolated) {
				c.trials = max(c.trials, n/5, 1)
			}
			if c.trials > 0 {
				all = append(all, c)
			}
		}
	}
	return all
}

// underSentinels returns a cell in which three Sentinels carry out a failover.
func underSentinels(n int) *soakCell {
	lock, _ := findLock("set-px-lua")
	return &soakCell{Cell: Cell{Lock: lock, Deployment: servers.Sentinel, Workload: namedWorkload(""), Fault: namedFault("failover")}, trials: max(n/5, 1)}
}

// faultyCells returns a cell for each expectation of a lock under a fault. The default workload is counter. The default
// deployment is the lock's usual one.
func faultyCells(l impls.Impl) []*soakCell {
	var cells []*soakCell
	seen := map[string]bool{}
	for _, e := range l.Expect {
		if e.Fault == "none" || l.Store == "" {
			continue
		}
		c := &soakCell{Cell: Cell{Lock: l, Deployment: e.Deployment, Workload: namedWorkload(e.Workload), Fault: namedFault(e.Fault)}}
		if only := c.Fault.Only; only != nil && only(l) != "" || seen[c.Dir()] {
			continue
		}
		seen[c.Dir()] = true
		cells = append(cells, c)
	}
	return cells
}

func (c *soakCell) expects(v histories.Expected) bool {
	return slices.ContainsFunc(c.Lock.Expected(impls.Situation{Workload: c.Workload.Name, Special: c.Workload.Special, Fault: c.Fault.Name,
		Deployment: c.On(), Processes: 3}), func(e impls.Expectation) bool { return e.Expected == v })
}

func namedWorkload(name string) workloads.Workload {
	if name == "" {
		name = "counter"
	}
	all := workloads.All()
	return all[slices.IndexFunc(all, func(w workloads.Workload) bool { return w.Name == name })]
}

func namedFault(name string) faults.Fault {
	all := faults.All()
	return all[slices.IndexFunc(all, func(f faults.Fault) bool { return f.Name == name })]
}

// keeping holds the folder for files of trials with unexpected results. It keeps the files of at most keepAtMost trials.
type keeping struct {
	dir string
	mu  sync.Mutex
	n   int
}

const keepAtMost = 200

func (k *keeping) keep(dir, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.n++; k.n > keepAtMost {
		return
	}
	if err := os.CopyFS(filepath.Join(k.dir, filepath.FromSlash(name)), os.DirFS(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "soak: a history could not be stored:", err)
	}
}
