package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/impls"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/trial"
	"lockbench/internal/measure"
	"lockbench/internal/measure/suites"
	"lockbench/internal/suggest"
	"lockbench/internal/yamlfile"
	"lockbench/reports/bench"
	"lockbench/reports/format"
	"lockbench/workloads"
)

// shape holds the flags that describe a suite with one section. It also holds the flags that apply to every suite.
type shape struct {
	section           suites.Section
	locks, keys       []string
	arrivals          string
	params            map[string]string
	trials, maxTrials int
	narrow            float64
	budget            time.Duration
	seed              uint64
}

// shaping lists the names of the flags that describe a suite.
var shaping = []string{"locks", "clients", "keys", "hold", "rate", "arrivals", "workload", "fault", "wait", "ttl", "duration", "param"}

func (s *shape) define(fl *pflag.FlagSet) {
	one := &s.section
	fl.StringSliceVar(&s.locks, "locks", []string{"set-px-lua", "redisson", "fenced"}, choice.LocksUsage)
	fl.IntSliceVar(&one.Clients, "clients", []int{1, 4, 16, 64}, "concurrent clients")
	fl.StringSliceVar(&s.keys, "keys", []string{"1"}, "number of different keys (clients: one each)")
	fl.DurationSliceVar(&one.Hold, "hold", []time.Duration{time.Millisecond}, "time inside the critical section")
	fl.Float64SliceVar(&one.Rate, "rate", nil, "iterations begun per second (closed loop)")
	fl.StringVar(&s.arrivals, "arrivals", "", "arrivals with --rate: constant, poisson or burst")
	fl.StringVar(&one.Workload, "workload", "contend", "workload")
	fl.StringVar(&one.Fault, "fault", "none", "fault to inject")
	fl.DurationVar(&one.Wait, "wait", 0, "longest wait for a grant (0: unlimited)")
	fl.DurationVar(&one.TTL, "ttl", 10*time.Second, "lease")
	fl.DurationVar(&one.Duration, "duration", 500*time.Millisecond, "measured time of each trial")
	fl.StringToStringVar(&s.params, "param", nil, "parameters of the locks (such as wait=backoff)")
	fl.IntVar(&s.trials, "trials", 10, "number of trials (at each point)")
	fl.IntVar(&s.maxTrials, "max-trials", 0, "most trials, if intervals stay wide (three times --trials)")
	fl.Float64Var(&s.narrow, "narrow", 0.05, "narrow enough half width of an interval (relative)")
	fl.DurationVar(&s.budget, "budget", 5*time.Minute, "time that the bench may take")
	fl.Uint64Var(&s.seed, "seed", 0, "seed of all randomness (0: random)")
}

func (s *shape) given(cmd *cobra.Command) bool {
	return slices.ContainsFunc(shaping, cmd.Flags().Changed)
}

// suite returns the suite that the flags describe, after the same checks as for a suite file.
func (s *shape) suite() (*suites.Suite, error) {
	section := s.section
	section.Name, section.Baselines, section.Arrivals = "asked", []string{"none", "bare"}, bench.Arrivals(s.arrivals)
	if s.arrivals == "" && len(section.Rate) > 0 {
		section.Arrivals = bench.Poisson
	}
	for _, name := range s.locks {
		lock, on, placed := strings.Cut(name, "@")
		of, err := choice.Locks.One(lock)
		if err == nil && placed {
			err = choice.Deployed(of, on)
		}
		if err != nil {
			return nil, err
		}
		section.Locks = append(section.Locks, suites.Lock{Name: lock, Deployment: on, Params: s.params})
	}
	for _, text := range s.keys {
		n := suites.OneEach
		if text != "clients" && text != "N" {
			if _, err := fmt.Sscan(text, &n); err != nil || n < 1 {
				return nil, console.Usage(fmt.Errorf("--keys %s: want a number, or clients for one key each", text), hint)
			}
		}
		section.Keys = append(section.Keys, n)
	}
	k := knownNames()
	if err := cmp.Or(choice.OneOf("workload", section.Workload, k.Workloads), choice.OneOf("fault", section.Fault, k.Faults)); err != nil {
		return nil, err
	}
	text := suites.Write(suites.Suite{Name: "asked", Sections: []suites.Section{section}}.Filled())
	made, err := suites.Parse("flags", text, k)
	if err != nil { // the suite comes from flags, so the error must have no line numbers
		return nil, console.Usage(errors.New(strings.Join(yamlfile.Texts(err), "\n")), "see lockbench bench --help")
	}
	return made, nil
}

func (s *shape) over(cmd *cobra.Command, suite *suites.Suite) (*suites.Suite, error) {
	made := s.given(cmd)
	changed := func(name string) bool { return made || cmd.Flags().Changed(name) }
	if changed("trials") {
		suite.Trials, suite.MaxTrials = s.trials, 3*s.trials
	}
	if changed("max-trials") && s.maxTrials > 0 {
		suite.MaxTrials = s.maxTrials
	}
	if changed("narrow") {
		suite.Narrow = s.narrow
	}
	if changed("budget") {
		suite.Budget = s.budget
	}
	if changed("seed") {
		suite.Seed = s.seed
	}
	switch {
	case suite.Trials < 1 || suite.Trials > 1000 || suite.MaxTrials < suite.Trials || suite.MaxTrials > 3000:
		return nil, console.Usage(fmt.Errorf("%d to %d trials: want 1 to 1000, and no fewer at the most", suite.Trials, suite.MaxTrials), hint)
	case suite.Budget < 0 || suite.Narrow < 0 || suite.Narrow > 1:
		return nil, console.Usage(errors.New("--budget and --narrow: want more than 0, and at most 1 for --narrow"), hint)
	}
	return suite, nil
}

func knownNames() suites.Known {
	k := suites.Known{Locks: choice.Locks.Names(), Faults: choice.Faults.Names()}
	for _, w := range workloads.All() {
		if !w.Served {
			k.Workloads = append(k.Workloads, w.Name)
		}
	}
	k.Lock = func(l suites.Lock) error {
		if err := impls.CheckParams(l.Params); err != nil || l.Deployment == "" {
			return err
		}
		lock, err := choice.Locks.One(l.Name)
		if err != nil {
			return nil // return no error here, because suites.Parse reports an unknown lock
		}
		return trial.Deployed(lock, l.Deployment)
	}
	return k
}

func readSuite(name string) (*suites.Suite, error) {
	file := name + ".yaml"
	text, ok := suites.Source(name)
	if !ok {
		var err error
		if text, err = os.ReadFile(name); err != nil {
			return nil, console.Usage(fmt.Errorf("unknown suite %q%s, and there is no such file", name, suggest.Meant(name, choice.Suites.Names())),
				"suites: "+shipped()+"; docs/reference/suites.md describes the format of a file")
		}
		file = name
	}
	s, err := suites.Parse(file, text, knownNames())
	if err != nil {
		return nil, console.Usage(err, "docs/reference/suites.md describes the format, docs/suite.schema.json is its schema")
	}
	return s, nil
}

func shipped() string { return strings.Join(choice.Suites.Names(), ", ") }

// progress displays the current block and lock of a running benchmark, the number of grants, and the estimated time left.
type progress struct {
	*console.Live

	mu    sync.Mutex
	now   measure.Progress
	since time.Time
}

func newProgress(w io.Writer) *progress {
	p := &progress{}
	p.Live = console.NewLive(w, p.line)
	return p
}

func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.now
	if n.Granted == nil {
		return ""
	}
	return fmt.Sprintf("block %d of %d  %s at %s  %d grants  %s left", n.Block, n.Blocks, n.Subject, n.Point, n.Granted.Load(), formatTimeLeft(n.Left-time.Since(p.since)))
}

func formatTimeLeft(d time.Duration) string {
	if d < 0 {
		return "almost nothing"
	}
	return "about " + format.Lasting(d)
}

func (p *progress) begin(n measure.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now.Granted == nil && !p.Terminal {
		p.Print(fmt.Sprintf("at most %d blocks, %s left", n.Blocks, formatTimeLeft(n.Left)))
	}
	p.now, p.since = n, time.Now()
}

func (p *progress) end(n measure.Progress, t *bench.Trial) {
	if v := t.Unsafe(); v != nil && !v.Expected {
		p.Print(fmt.Sprintf("%s at %s violates %s in block %d: %s", n.Subject, n.Point, v.Property, n.Block, v.Text))
	} else if t.Discarded != "" {
		p.Print(fmt.Sprintf("%s at %s discarded in block %d: %s", n.Subject, n.Point, n.Block, t.Discarded))
	}
}
