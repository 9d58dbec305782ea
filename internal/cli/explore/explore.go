// Package explore implements two commands: explore searches for violations in virtual time, and replay runs a counterexample
// again.
package explore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/fleet"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/suggest"
	"lockbench/internal/world/servers"
	"lockbench/reports/campaign"
	"lockbench/reports/format"
)

type flags struct {
	locks, faults []string
	seeds, seed   uint64
	time          time.Duration
	jobs, most    int
	out           string
	asJSON        bool
	untilFail     bool

	emitTest, emitHistory string

	servers choice.Servers
	real    bool // whether cases run on real servers
	worker  choice.Worker
	fleet   choice.Fleet
	params  map[string]string // parameters of the worker's lock
}

// Command returns the "explore" command, which searches for violations of locks, in virtual time or on real servers.
func Command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Search for violations of a lock, in virtual time or on real servers",
		Long: `explore runs locks with a random plan of faults, and often varied use, for each seed. A violation is
minimised, shown as a list of events with a timeline, and written to a file for lockbench replay.

Without --servers locks run in virtual time, on emulated servers and a simulated network. The result
depends on the seeds alone. Without flags each supported deployment is explored for half a minute.

With --servers, --worker or an address such as --redis, cases run with real processes and servers. A
violation counts only if it shows again. With --listen or --nats, agents help (docs/scale.md).

  lockbench explore --locks redlock@five --faults node-restart,partition
  lockbench explore --worker 'python3 worker.py' --for 10m

` + faultNames() + `
Exit codes: 0 no violation of a property that was expected to hold; 1 such a violation; 2 wrong
usage; 3 a trial has no verdict; 4 it does not run on this machine; 130 interrupted.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			x, err := f.plan(cmd)
			if err != nil {
				return err
			}
			return x.run(cmd.Context())
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringSliceVar(&f.locks, "locks", nil, choice.LocksUsage+" (all that can be simulated)")
	f.worker.Define(fl)
	fl.StringToStringVar(&f.params, "param", nil, "parameters of the locks (on real servers)")
	fl.StringSliceVar(&f.faults, "faults", nil, "faults to inject (all)")
	fl.Uint64Var(&f.seeds, "seeds", 0, "number of seeds for each lock (as many as the time allows)")
	fl.DurationVar(&f.time, "for", 30*time.Second, "time to explore, without --seeds")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of all randomness (with --seeds, the first)")
	fl.BoolVar(&f.untilFail, "until-fail", false, "stop at the first violation of what was expected to hold")
	fl.IntVar(&f.most, "counterexamples", 0, "most counterexamples of each lock (1; up to four locks: 4)")
	fl.IntVar(&f.jobs, "jobs", 0, "concurrent trials (one for each core; on real servers two to ten)")
	f.servers.Define(fl)
	fl.Lookup("servers").DefValue, f.servers.How = "", ""
	f.fleet.Define(fl, true)
	fl.StringVar(&f.out, "out", "", "folder for the results (runs/<time>-explore)")
	fl.StringVar(&f.emitTest, "emit-test", "", "write counterexamples as Go tests (to this folder)")
	fl.StringVar(&f.emitHistory, "emit-history", "", "write the recorded histories (to this folder)")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON (the same for the same seeds)")
	return cmd
}

func faultNames() string {
	var t format.Lines
	t.Paragraph("Faults: " + strings.Join(explore.StepNames(), ", ") + ".")
	return t.String()
}

type exploration struct {
	*flags
	stdout, stderr io.Writer
	campaign       explore.Campaign
	setup          setup
	given          *pflag.FlagSet
	notes          []string // notes to print, such as the reason why a lock cannot be explored
	dir            string
}

func (f *flags) plan(cmd *cobra.Command) (*exploration, error) {
	if err := f.fleet.Restore(cmd.Flags()); err != nil {
		return nil, err
	}
	seeded := cmd.Flags().Changed("seed")
	err := console.Refuse("see lockbench explore --help", append(append(f.worker.Refusals(f.locks), f.fleet.Refusals(f.out)...),
		console.Refusal{If: f.fleet.Shared() && f.servers.Named(), What: "agents start separate servers", Hint: "leave out the addresses of your servers, or --listen and --nats"},
		console.Refusal{If: f.jobs < 0 || f.jobs > 64, What: "--jobs: want 1 to 64, or 0 for one per core"},
		console.Refusal{If: f.most < 0 || f.most > 16, What: "--counterexamples: want 1 to 16"},
		console.Refusal{If: f.seeds > 10_000_000, What: fmt.Sprintf("--seeds %d: want at most 10000000", f.seeds)},
		console.Refusal{If: f.time < time.Second, What: fmt.Sprintf("--for %v: want at least 1s", f.time)},
		console.Refusal{If: cmd.Flags().Changed("for") && (f.seeds > 0 || seeded), What: "--for cannot be used with --seeds or --seed",
			Hint: "leave out one of them"},
		console.Refusal{If: len(f.params) > 0 && !f.onServers(), What: "--param is for real servers", Hint: "add --servers local; in virtual time a seed draws the parameters"},
		console.Refusal{If: f.worker.Given() && f.emitTest != "", What: "--emit-test: a test cannot start a worker", Hint: "lockbench replay runs the case again"})...)
	if err != nil {
		return nil, err
	}
	if seeded && f.seeds == 0 {
		f.seeds = 1
	}
	for _, name := range f.faults {
		if known := explore.StepNames(); !slices.Contains(known, name) {
			return nil, console.Usage(fmt.Errorf("unknown fault %q%s", name, suggest.Meant(name, known)), "lockbench explore --help lists the faults")
		}
	}
	if err := f.settle(cmd); err != nil {
		return nil, err
	}
	x := &exploration{flags: f, given: cmd.Flags(), stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	subjects, err := x.subjects(cmd.Context())
	if err != nil {
		return nil, err
	}
	if f.most == 0 {
		if f.most = 4; len(subjects) > 4 || f.untilFail {
			f.most = 1
		}
	}
	if f.jobs == 0 && !f.real {
		f.jobs = runtime.NumCPU()
	}
	f.jobs = cmp.Or(f.jobs, jobsFor(subjects))
	if x.setup.Params, x.setup.remote = f.params, f.servers.Remote; f.real {
		x.setup.Servers = f.servers.How
	}
	x.campaign = explore.Campaign{Subjects: subjects, First: f.seed, Seeds: f.seeds, For: f.time, Counterexamples: f.most, UntilFail: f.untilFail}
	return x, nil
}

// onServers reports whether cases run on real servers.
func (f *flags) onServers() bool {
	return f.servers.How != "" || f.servers.Named() || f.worker.Given()
}

// settle finds out whether cases run in virtual time or on real servers.
func (f *flags) settle(cmd *cobra.Command) error {
	if f.real = f.onServers(); !f.real {
		return nil
	}
	if err := f.worker.Install(cmd.Context(), cmd.ErrOrStderr()); err != nil {
		return err
	}
	if f.worker.Command == "" {
		if err := impls.CheckParams(f.params); err != nil {
			return console.Usage(err, "see lockbench explore --help")
		}
	}
	f.servers.How = cmp.Or(f.servers.How, servers.Auto)
	return f.servers.Settle(cmd)
}

func (x *exploration) subjects(ctx context.Context) ([]explore.Subject, error) {
	if x.worker.Command != "" {
		own, notes, err := register(ctx, x.worker, x.servers, x.params, &x.jobs)
		x.notes = append(x.notes, notes...)
		x.setup.Worker, x.setup.Shortest = x.worker.Portable(), own.Shortest
		return []explore.Subject{{Servers: x.servers.How, Lock: own.Name, Deployment: own.Deployment, Faults: x.faults}}, err
	}
	names := x.locks
	if len(names) == 0 {
		for _, l := range catalog.OnRedis() {
			if l.Store != "" && !l.ThirdParty {
				names = append(names, l.Name)
			}
		}
	}
	var all []explore.Subject
	for _, name := range names {
		lock, deployment, placed := strings.Cut(name, "@")
		known, err := choice.Locks.One(lock)
		if err == nil && placed {
			err = choice.Deployed(known, deployment)
		}
		if err != nil {
			return nil, err
		}
		s := explore.Subject{Servers: x.servers.How, Lock: lock, Deployment: deployment, Faults: x.faults}
		switch err := s.Refused(); {
		case err == nil && slices.ContainsFunc(all, func(x explore.Subject) bool { return x.Lock == s.Lock && x.Deployment == s.Deployment }):
			x.notes = append(x.notes, name+" is named twice")
		case err == nil:
			all = append(all, s)
		case len(x.locks) > 0:
			return nil, console.Usage(err, "--servers local explores it on real servers")
		default:
			x.notes = append(x.notes, fmt.Sprintf("%s is left out: %v", lock, err))
		}
	}
	if x.real {
		return all, preflight(ctx, all, x.servers)
	}
	return all, nil
}

// run explores the locks and prints the result. It returns an error with the exit code.
func (x *exploration) run(ctx context.Context) (err error) {
	if x.dir, err = x.fleet.Folder(x.given, x.out, "explore"); err != nil {
		return err
	}
	for _, note := range x.notes {
		console.Note(x.stderr, note)
	}
	queue, done, err := x.queue(ctx)
	if err != nil {
		return err
	}
	complete := false
	defer func() { err = errors.Join(err, done(complete)) }()
	x.campaign.Spent = queue.Fleet.Spent()
	result, err := x.watched(queue.Fleet, func() (*explore.Result, error) { return x.campaign.Run(ctx, queue) })
	switch {
	case errors.As(err, new(*console.Exit)):
		return err
	case errors.Is(err, fleet.ErrRefused):
		return console.Environment(err, "lockbench agent --allow-worker COMMAND allows it")
	case err != nil && ctx.Err() == nil:
		return &console.Exit{Code: console.ExitInternal, Err: err, Hint: "lockbench explore --locks L --seed N tries one seed alone"}
	}
	complete = ctx.Err() == nil
	return x.report(ctx, result)
}

// watched runs the campaign. Meanwhile it shows the progress and writes the state for lockbench serve.
func (x *exploration) watched(queue *fleet.Coordinator, run func() (*explore.Result, error)) (*explore.Result, error) {
	start := time.Now().Add(-x.campaign.Spent)
	var latest atomic.Pointer[explore.Progress]
	latest.Store(&explore.Progress{})
	x.campaign.Progress = func(now explore.Progress) { latest.Store(&now) }
	state, err := campaign.Keep(x.dir, func() campaign.State { return x.state(*latest.Load(), start, choice.Agents(queue)) })
	if err != nil {
		return nil, console.Environment(err, "choose another folder with --out")
	}
	live := console.NewLive(x.stderr, func() string {
		return strings.Trim(progressLine(*latest.Load(), x.real, start)+"; "+choice.Members(queue), "; ")
	})
	result, err := run()
	live.Close()
	found := "" // an interrupted search says only what it has found so far
	if err == nil {
		found = x.found(result)
	}
	if unwritten := state.End(err != nil, found); unwritten != nil {
		console.Note(x.stderr, "lockbench serve will call the search stopped: "+unwritten.Error())
	}
	return result, err
}

// found describes in a few words what a search found.
func (x *exploration) found(result *explore.Result) string {
	shown, failed, inconclusive := 0, []string{}, []string{}
	for _, l := range result.Locks {
		shown += len(l.Counterexamples)
		switch {
		case l.Fails(x.real):
			failed = append(failed, subjectName(l))
		case l.Inconclusive():
			inconclusive = append(inconclusive, subjectName(l))
		}
	}
	text := format.Plural(shown, "violation") + " shown"
	switch {
	case len(failed) > 0:
		return text + ", also of what was expected to hold: " + strings.Join(failed, ", ")
	case len(inconclusive) > 0:
		return text + "; inconclusive: " + strings.Join(inconclusive, ", ")
	}
	return text + "; nothing failed that was expected to hold"
}

// queue returns the queue for the cases, and a function that ends its processes.
func (x *exploration) queue(ctx context.Context) (*explore.Queue, func(complete bool) error, error) {
	text, err := json.Marshal(x.setup)
	if err != nil {
		return nil, nil, err
	}
	identity, err := json.Marshal([]any{x.setup, x.campaign.Subjects, x.campaign.First, x.campaign.Seeds, x.campaign.For, x.campaign.Counterexamples, x.campaign.UntilFail})
	if err != nil {
		return nil, nil, err
	}
	machine := &Machine{Slots: x.jobs}
	if !x.fleet.AgentsOnly {
		if err := machine.open(ctx, x.setup, text); err != nil {
			return nil, nil, err
		}
	}
	c, err := x.fleet.Open(ctx, x.dir, string(identity), x.jobs, fleet.Handlers{explore.TaskKind: machine.Handler()}, func(text string) { console.Note(x.stderr, text) })
	if err != nil {
		return nil, nil, errors.Join(err, machine.Close())
	}
	return &explore.Queue{Fleet: c, Setup: text}, func(complete bool) error {
		return errors.Join(c.Close(complete), machine.Close(), x.fleet.Finish(x.dir, complete))
	}, nil
}

const hintExplorer = "exploring processes are this program again"

func explorer() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, console.Environment(err, hintExplorer)
	}
	return []string{self, "explorer"}, nil
}

func (x *exploration) report(ctx context.Context, result *explore.Result) error {
	text := explored(result, x.dir, x.worker)
	err := cmp.Or(x.keep(result, text), x.badge(result, ctx.Err() != nil))
	if err != nil {
		return console.Environment(err, "choose another folder with --out")
	}
	if x.asJSON {
		err = json.NewEncoder(x.stdout).Encode(result) // names of locks and faults contain no invisible characters, so they need no escaping
	} else {
		_, err = io.WriteString(x.stdout, text)
	}
	if err != nil {
		return console.Environment(err, "standard output cannot be written to")
	}
	found := console.Codes{console.ExitInterrupted: ctx.Err() != nil}
	for _, l := range result.Locks {
		found[console.ExitFail] = found[console.ExitFail] || l.Fails(x.real)
		found[console.ExitInconclusive] = found[console.ExitInconclusive] || l.Inconclusive()
		found[console.ExitInternal] = found[console.ExitInternal] || len(l.Disagreements) > 0
	}
	return found.Err()
}
