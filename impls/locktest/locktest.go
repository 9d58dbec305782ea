// Package locktest tests a lock on Redis, or another store, inside go test. The lock implements impls.Lock:
//
//	func TestMyLock(t *testing.T) {
//		o := locktest.Options{Leased: true}
//		locktest.Run(t, open, o)
//		locktest.Explore(t, open, o)
//	}
//
//	func open(env impls.Env) (impls.Lock, error) { ... }
//
// Run drives workloads and injects faults in real time, and Explore searches for violations in virtual time. Both use the
// expectations that docs/reference/expectations.md lists for a lock with the declared capabilities (see Options).
//
// Run and Explore start the test binary again, with -test.run set to the calling test, and exchange lines with it on its
// standard input and output. A TestMain, and the test before the call, must therefore not write to standard output or read
// standard input.
package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/expect"
	redislocks "lockbench/impls/redis"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/simulate/counterexample"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// Open opens the lock of one process. Explore runs the lock in virtual time. The lock must therefore open connections
// with Env.Dial and take random numbers from Env.Rand. The function Redis returns a suitable client.
type Open = func(impls.Env) (impls.Lock, error)

// Options describes a lock and the trials to run. The zero value describes a lock without a lease on Redis.
type Options struct {
	Name        string        // "": the name of the test
	Leased      bool          // whether a hold ends with its lease unless it is renewed
	Renews      bool          // whether the lock renews holds by itself
	Reentrant   bool          // whether the holder can acquire the lock again
	Fences      bool          // whether grants have fencing tokens
	Notifies    bool          // whether the store notifies waiters of a release
	Session     bool          // whether a hold ends with its session of the store
	ReportsLoss bool          // whether the lock reports the loss of a hold (impls.Hold.Lost)
	BackOff     time.Duration // longest delay between two tries of a waiter

	Store, Deployment string              // default: store "redis", deployment "single"
	Servers           string              // embedded: an emulator of Redis, the default for Redis; local: installed servers
	Workloads         []string            // workloads to run; nil: counter, misuse, long-hold and, if Reentrant is set, reentrant
	Faults            []string            // faults to inject; nil: all faults of clients and the network; empty: no fault
	Trials            int                 // number of trials of each workload and fault; 0: 1 trial
	Seeds             uint64              // number of fault plans that Explore tries; 0: 200 plans
	Seed              uint64              // first seed; 0: seed 1. If LOCKBENCH_SEED is set, only trials and plans with that seed run
	Expect            []impls.Expectation // expectations that differ from the default ones; see impls/expect
}

// seedVariable is the environment variable that sets the seed, in order to repeat a trial or a fault plan.
const seedVariable = "LOCKBENCH_SEED"

// Redis returns a client of the server in env, for a lock that is explored in virtual time. It sends each command once.
func Redis(env impls.Env) (redis.UniversalClient, error) {
	nodes, err := redislocks.Connect(env)
	if err != nil {
		return nil, err
	}
	return nodes[0].UniversalClient, nil
}

// suite holds a lock and the settings of its trials.
type suite struct {
	Options
	lock impls.Impl
	test string // name of the calling test
}

// begin returns the lock and the settings of a test. If this is a child process that was started for this test, begin
// executes the parent's requests and exits. In any other child process, ok is false.
func begin(t *testing.T, open Open, o Options, mode string) (s *suite, ok bool) {
	t.Helper()
	redislocks.Quiet()
	o.Name = cmp.Or(o.Name, notNameable.ReplaceAllString(t.Name(), "-"))
	o.Store, o.Deployment = cmp.Or(o.Store, servers.Redis), cmp.Or(o.Deployment, servers.Single)
	o.Trials, o.Seed, o.Seeds = max(1, o.Trials), cmp.Or(o.Seed, 1), cmp.Or(o.Seeds, 200)
	if o.Servers = cmp.Or(o.Servers, servers.Embedded); o.Store != servers.Redis {
		o.Servers = servers.Local
	}
	s = &suite{Options: o, test: t.Name()}
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s=%s: want a number", seedVariable, text)
		}
		s.Seed, s.Seeds, s.Trials = seed, 1, 1
	}
	s.lock = impls.Impl{Name: o.Name, Store: o.Store, Deployment: o.Deployment, Leased: o.Leased, Renews: o.Renews, Reentrant: o.Reentrant,
		Fences: o.Fences, Notifies: o.Notifies, Session: o.Session, ReportsLoss: o.ReportsLoss, BackOff: o.BackOff, Open: open}
	s.lock.Expect = expect.Override(expect.Default(s.lock), o.Expect)
	if isChild() {
		s.serve(mode)
		return nil, false
	}
	return s, true
}

// notNameable matches characters that names of locks do not contain.
var notNameable = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// Run tests a lock in real time, with a subtest for each workload and fault. Without a fault, the clients run in this
// process, in groups with separate lock objects. Under a fault, they run in separate processes. In short mode, no faults
// are injected.
func Run(t *testing.T, open Open, o Options) {
	t.Helper()
	s, ok := begin(t, open, o, modeWorker)
	if !ok {
		return
	}
	cells, left, err := s.cells(testing.Short())
	if err != nil {
		t.Fatal(err)
	}
	for _, why := range left {
		t.Log(why)
	}
	var pool trial.Pool
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, c := range cells {
		t.Run(c.Workload.Name+","+c.Fault.Name, func(t *testing.T) {
			t.Parallel() // other trials can run meanwhile, because a trial mostly waits
			failures, notes, err := s.try(t.Context(), c, t.ArtifactDir(), &pool)
			for _, note := range notes {
				t.Log(note)
			}
			for _, f := range failures {
				t.Error(f.text)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// cells returns the trials to run, and the reasons why other trials are left out.
func (s *suite) cells(short bool) (cells []trial.Cell, left []string, err error) {
	loads := s.Workloads
	if loads == nil {
		loads = []string{"counter", "misuse", "long-hold"}
		if s.Reentrant {
			loads = append(loads, "reentrant")
		}
	}
	known := slices.DeleteFunc(workloads.All(), func(w workloads.Workload) bool { return w.Served })
	chosen, err := choose("workload", loads, known, func(w workloads.Workload) string { return w.Name })
	if err != nil {
		return nil, nil, err
	}
	injected := slices.DeleteFunc(faults.All(), func(f faults.Fault) bool { return f.Kind == faults.Servers })
	if s.Faults != nil {
		if injected, err = choose("fault", append([]string{"none"}, s.Faults...), faults.All(), func(f faults.Fault) string { return f.Name }); err != nil {
			return nil, nil, err
		}
	}
	if short {
		injected = []faults.Fault{faults.None()}
	}
	cells, left = trial.Fitting(trial.Plan([]impls.Impl{s.lock}, chosen, injected), s.Servers, servers.Remote{})
	if len(cells) == 0 {
		return nil, nil, fmt.Errorf("no workload applies: %s", strings.Join(left, "; "))
	}
	return cells, left, nil
}

// choose returns the elements of a table with the given names. Each element occurs only once in the result.
func choose[T any](what string, names []string, table []T, nameOf func(T) string) (chosen []T, err error) {
	names = slices.Compact(slices.Clone(names))
	for _, name := range names {
		i := slices.IndexFunc(table, func(row T) bool { return nameOf(row) == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown %s %q", what, name)
		}
		chosen = append(chosen, table[i])
	}
	return chosen, nil
}

// failure is a property that was expected to hold, but was violated or undecided.
type failure struct{ property, text string }

// try runs the trials of a cell. It returns the failures, and notes on expected violations that were not observed.
func (s *suite) try(ctx context.Context, c trial.Cell, dir string, pool *trial.Pool) (failures []failure, notes []string, err error) {
	params := workloads.Defaults()
	params.Seed = s.Seed
	command, err := s.command(modeWorker)
	if err != nil {
		return nil, nil, err
	}
	setting := trial.Setting{Run: fmt.Sprintf("locktest-%d", os.Getpid()), Servers: s.Servers, Params: params, Worker: command, Trials: s.Trials, Lend: pool.Lend}
	for n := range s.Trials {
		out, err := setting.Try(ctx, c, dir, n, new(atomic.Int64))
		if err != nil {
			return failures, notes, err
		}
		if all := out.Verdict.Oracle.Disagreements; len(all) > 0 {
			return failures, notes, fmt.Errorf("the two checks of lockbench disagree, which is a defect of lockbench: %s", strings.Join(all, "; "))
		}
		for _, f := range out.Verdict.Findings {
			e := out.Header.Expectation(f.Property)
			switch checker.ResultOf(e.Expected, f.Observed) {
			case checker.Fail:
				text, err := s.failed(c, out, f, e)
				if err != nil {
					return failures, notes, err
				}
				failures = append(failures, failure{f.Property, text})
			case checker.Inconclusive:
				failures = append(failures, failure{f.Property, fmt.Sprintf("%s is inconclusive: %s", f.Property, f.Why)})
			case checker.XPass:
				notes = append(notes, fmt.Sprintf("%s was expected to be violated, and no violation was observed", f.Property))
			}
		}
	}
	return failures, notes, nil
}

// failed describes a violation: the events, a sentence about them, and the command that repeats the trial.
func (s *suite) failed(c trial.Cell, out trial.Outcome, f checker.Finding, e histories.Expectation) (string, error) {
	lines, err := read(out.Dir + "/history.jsonl.zst")
	if err != nil {
		return "", err
	}
	p := workloads.Params{Clients: out.Header.Clients, Processes: out.Header.Processes, TTL: time.Duration(out.Header.TTL), Seed: out.Header.Seed}
	example := counterexample.New(counterexample.Trial{Deployment: out.Header.Deployment, Params: p, Strikes: out.Strikes,
		Ops: explore.Operations(lines), Verdict: out.Verdict}, f.Property)
	under := ""
	if c.Fault.Kind != faults.Nothing {
		under = " under the fault " + c.Fault.Name
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is violated%s, and it was expected to hold: %s\n", f.Property, under, e.Because)
	for _, event := range example.Events() {
		fmt.Fprintf(&b, "  %s\n", event)
	}
	fmt.Fprintf(&b, "repeat: %s", s.repeat(out.Header.Seed, c.Workload.Name+","+c.Fault.Name))
	return b.String(), nil
}

// repeat returns the command that reruns the test, or one of its subtests, with the given seed.
func (s *suite) repeat(seed uint64, subtest string) string {
	name := s.test
	if subtest != "" {
		name += "/" + subtest
	}
	return fmt.Sprintf("%s=%d go test -count=1 -run '%s'", seedVariable, seed, pattern(name))
}

// pattern returns the pattern of go test -run that matches one test.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

func read(path string) (lines []histories.Line, err error) {
	r, err := histories.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
}
