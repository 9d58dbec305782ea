package sim

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// differs lists properties whose results differ between virtual and real time. A key consists of lock, fault and
// property. The value is the reason.
var differs = map[string]string{
	"blind-renewal process-pause renewal": "the renewal is due during the pause and recorded then, although it is sent after the process has resumed: it counts as sent before the next grant",
}

// acted holds the history of a trial under a fault and the verdict on this history.
type acted struct {
	discarded string
	file      []byte
	header    histories.Header
	verdict   *checker.Verdict
}

// TestFaultsInVirtualTime runs every lock under every fault for which it states expectations. The expectations must be
// met. A repeated trial must record the same history.
func TestFaultsInVirtualTime(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	var virtual time.Duration
	start, used := time.Now(), map[string]bool{}
	for _, trial := range faultTrials(t) {
		t.Run(trial.Lock.Name+" "+trial.Workload.Name+"+"+trial.Fault+"@"+trial.On(), func(t *testing.T) {
			first := trial.act(t)
			virtual += first.verdict.Until
			for _, f := range first.verdict.Findings {
				score := checker.ResultOf(first.header.Expectation(f.Property).Expected, f.Observed)
				name := trial.Lock.Name + " " + trial.Fault + " " + f.Property
				odd := score == checker.Fail || score == checker.XPass || score == checker.Inconclusive
				switch why := differs[name]; {
				case odd && why == "":
					t.Errorf("%s: %s %s %+v", name, score, f.Why, f.Witness)
				case why != "":
					used[name] = used[name] || odd
				}
			}
			for _, d := range first.verdict.Oracle.Disagreements {
				t.Error(d)
			}
			second := trial.act(t)
			virtual += second.verdict.Until
			if !bytes.Equal(first.file, second.file) {
				t.Errorf("the histories of two runs differ: %d and %d bytes", len(first.file), len(second.file))
			}
		})
	}
	took := time.Since(start)
	t.Logf("%v of virtual time in %v: %.0f virtual seconds in a real one, judging included", virtual.Round(time.Millisecond), took.Round(time.Millisecond), virtual.Seconds()/took.Seconds())
	for name := range maps.Keys(differs) {
		if !used[name] {
			t.Errorf("%s meets the expectation: remove it from differs", name)
		}
	}
}

// act runs and judges the trial.
func (t Trial) act(to *testing.T) acted {
	to.Helper()
	var file bytes.Buffer
	discarded, err := t.Run(&file)
	if err != nil {
		to.Fatal(err)
	}
	if discarded != "" {
		to.Errorf("discarded: %s", discarded)
	}
	a := acted{discarded: discarded, file: file.Bytes()}
	r, err := histories.NewReader(bytes.NewReader(a.file))
	if err != nil {
		to.Fatal(err)
	}
	defer r.Close()
	a.header = t.header()
	if a.verdict, err = judge.History(a.header, r.Next, judge.Options{}); err != nil {
		to.Fatal(err)
	}
	return a
}

// faultTrials returns a trial for every lock and every fault for which the lock states expectations. It omits trials
// that cannot be simulated and logs the reasons.
func faultTrials(t *testing.T) []Trial {
	var all []Trial
	refused := map[string]bool{}
	for _, l := range catalog.OnRedis() {
		for _, f := range faults.All() {
			for _, w := range workloads.All() {
				for _, on := range deployments(l, f) {
					trial := faultTrial(l, f, w, on)
					if f.Plan == nil || f.NotFor(l) != "" || w.Name != "counter" && w.Name != "write-fenced" || len(trial.header().Expectations) == 0 {
						continue
					}
					if why := trial.Refused(); why != nil {
						refused[why.Error()] = true
						continue
					}
					all = append(all, trial)
				}
			}
		}
	}
	t.Logf("refused: %q", slices.Sorted(maps.Keys(refused)))
	return all
}

// deployments returns the deployments to test a lock under a fault: the usual one, and those for which the lock states
// expectations.
func deployments(l impls.Impl, f faults.Fault) []string {
	usual := l.Deployment
	if f.On != nil {
		usual = f.On(usual)
	}
	all := []string{usual}
	for _, e := range l.Expect {
		if e.Fault == f.Name && e.Deployment != "" && !slices.Contains(all, e.Deployment) {
			all = append(all, e.Deployment)
		}
	}
	return all
}

// faultTrial returns a trial of a lock under a fault, with the parameters that the fault needs.
func faultTrial(l impls.Impl, f faults.Fault, w workloads.Workload, on string) Trial {
	p := w.Adapted(f.Params(workloads.Defaults(), 0, on))
	if l.Lease > 0 {
		p.TTL = min(p.TTL, l.Lease)
	}
	t := Trial{Lock: l, Deployment: on, Workload: w, Params: p, LockParams: map[string]string{"wait": "backoff"}, Fault: f.Name}
	if f.Plan != nil {
		t.Plan = f.Plan(faults.Scene{TTL: p.TTL, Deployment: on, Processes: p.Processes})
	}
	return t
}
