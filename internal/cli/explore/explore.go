// Package explore has the verbs of virtual time: explore, which searches for violations, and replay, which runs a case again.
package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/impls/catalog"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/simulate/sim"
)

type flags struct {
	locks, faults []string
	seeds, seed   uint64
	time          time.Duration
	jobs, stories int
	out           string
	asJSON        bool

	emitTest, emitHistory string
}

// Command returns the verb explore.
func Command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Search for violations of a lock in virtual time, and minimise them to counterexamples",
		Long: `explore runs the locks' own code in virtual time, on emulated servers and a network in memory, with thousands of plans of
faults: one for each seed. A violation is minimised to a counterexample, shown as a list of events with a timeline, and
written to a file that lockbench replay runs again, in simulation or on real servers.

The result depends on the seeds alone, not on the number of cores. Without flags it takes about half a minute. By default
each supported deployment of a lock is explored; lock@deployment names one.

Exit codes: 0 no property was violated that was expected to hold; 1 one was; 2 wrong usage; 3 a trial has no verdict;
4 it does not run on this machine; 130 interrupted.`,
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
	fl.StringSliceVar(&f.locks, "locks", nil, "locks to explore (all that can be), such as redlock or redlock@five-delayed")
	fl.StringSliceVar(&f.faults, "faults", nil, "faults to inject (all): "+strings.Join(explore.StepNames(), ", "))
	fl.Uint64Var(&f.seeds, "seeds", 0, "seeds to try with each lock (as many as the time allows)")
	fl.DurationVar(&f.time, "for", 30*time.Second, "how long to explore, without --seeds")
	fl.Uint64Var(&f.seed, "seed", 0, "try this seed alone; with --seeds, the first of them")
	fl.IntVar(&f.stories, "stories", 0, "counterexamples to minimise of each lock at most (1; 4 of up to four locks)")
	fl.IntVar(&f.jobs, "jobs", 0, "processes, each on one core (one for each core)")
	fl.StringVar(&f.out, "out", "", "folder for the counterexamples (runs/<time>-explore)")
	fl.StringVar(&f.emitTest, "emit-test", "", "folder for a Go test of this module for each counterexample")
	fl.StringVar(&f.emitHistory, "emit-history", "", "folder for the recorded history of each counterexample")
	fl.BoolVar(&f.asJSON, "json", false, "print the result as JSON; it is the same for the same seeds")
	return cmd
}

type exploration struct {
	*flags
	stdout, stderr io.Writer
	campaign       explore.Campaign
	refused        []string // locks that cannot be explored, and why
	dir            string
}

func (f *flags) plan(cmd *cobra.Command) (*exploration, error) {
	seeded := cmd.Flags().Changed("seed")
	err := console.Refuse("see lockbench explore --help",
		console.Refusal{If: f.jobs < 0 || f.jobs > 64, What: "--jobs: want 1 to 64, or 0 for one per core"},
		console.Refusal{If: f.stories < 0 || f.stories > 16, What: "--stories: want 1 to 16"},
		console.Refusal{If: f.seeds > 10_000_000, What: fmt.Sprintf("--seeds %d: want at most 10000000", f.seeds)},
		console.Refusal{If: f.time < time.Second, What: fmt.Sprintf("--for %v: want at least 1s", f.time)},
		console.Refusal{If: cmd.Flags().Changed("for") && (f.seeds > 0 || seeded), What: "--for cannot be used with --seeds or --seed",
			Hint: "leave out one of them"})
	if err != nil {
		return nil, err
	}
	if seeded && f.seeds == 0 {
		f.seeds = 1
	}
	for _, name := range f.faults {
		if err := choice.OneOf("fault of exploring", name, explore.StepNames()); err != nil {
			return nil, err
		}
	}
	x := &exploration{flags: f, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	subjects, err := x.subjects()
	if err != nil {
		return nil, err
	}
	if f.stories == 0 {
		if f.stories = 4; len(subjects) > 4 {
			f.stories = 1
		}
	}
	if f.jobs == 0 {
		f.jobs = runtime.NumCPU()
	}
	x.campaign = explore.Campaign{Subjects: subjects, First: f.seed, Seeds: f.seeds, For: f.time, Counterexamples: f.stories}
	return x, nil
}

func (x *exploration) subjects() ([]explore.Subject, error) {
	names := x.locks
	if len(names) == 0 {
		for _, l := range catalog.OnRedis() {
			if l.Store != "" && !l.Peer {
				names = append(names, l.Name)
			}
		}
	}
	var all []explore.Subject
	for _, name := range names {
		lock, deployment, _ := strings.Cut(name, "@")
		if _, err := choice.Locks.One(lock); err != nil {
			return nil, err
		}
		s := explore.Subject{Lock: lock, Deployment: deployment, Faults: x.faults}
		switch err := s.Refused(); {
		case err == nil:
			all = append(all, s)
		case len(x.locks) > 0:
			return nil, console.Usage(err, "lockbench run --faults shows it on real servers")
		default:
			x.refused = append(x.refused, fmt.Sprintf("%s is left out: %v", lock, err))
		}
	}
	return all, nil
}

// run explores, prints the result, and returns the exit code as an error.
func (x *exploration) run(ctx context.Context) error {
	if err := sim.Supported(); err != nil {
		return console.Environment(err, "lockbench run --faults injects the same faults into real processes and servers")
	}
	var err error
	if x.dir, err = console.Folder(x.out, "explore", ""); err != nil {
		return err
	}
	program, err := explorer()
	if err != nil {
		return err
	}
	pool, err := explore.NewPool(program, x.jobs)
	if err != nil {
		return console.Environment(err, hintExplorer)
	}
	defer pool.Close()
	for _, why := range x.refused {
		fmt.Fprintln(x.stderr, "note:", why)
	}
	live, progress := newProgress(x.stderr)
	x.campaign.Progress = progress
	result, err := x.campaign.Run(ctx, pool)
	live.Close()
	if err != nil && ctx.Err() == nil {
		return &console.Exit{Code: console.ExitInternal, Err: err, Hint: "lockbench explore --locks L --seed N tries one seed alone"}
	}
	return x.report(ctx, result)
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
	var told strings.Builder
	printExplored(&told, result, x.dir)
	err := x.keep(result, told.String())
	if err != nil {
		return console.Environment(err, "choose another folder with --out")
	}
	if x.asJSON {
		err = json.NewEncoder(x.stdout).Encode(result)
	} else {
		_, err = io.WriteString(x.stdout, told.String())
	}
	if err != nil {
		return console.Environment(err, "standard output cannot be written to")
	}
	found := console.Codes{console.ExitInterrupted: ctx.Err() != nil}
	for _, l := range result.Locks {
		for _, p := range l.Properties {
			found[console.ExitFail] = found[console.ExitFail] || p.Fails > 0
		}
		found[console.ExitInternal] = found[console.ExitInternal] || len(l.Disagreements) > 0
		found[console.ExitInconclusive] = found[console.ExitInconclusive] || len(l.Failed) > 0 // a nondeterministic trial was judged: it is only not shown
	}
	return found.Err()
}
