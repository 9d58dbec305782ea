// Package explore implements two commands: explore searches for violations in virtual time, and replay runs a counterexample
// again.
package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/impls/catalog"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/simulate/sim"
	"lockbench/internal/suggest"
	"lockbench/reports/format"
)

type flags struct {
	locks, faults []string
	seeds, seed   uint64
	time          time.Duration
	jobs, most    int
	out           string
	asJSON        bool

	emitTest, emitHistory string
}

// Command returns the "explore" command, which searches for violations of locks in virtual time.
func Command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Search for violations of a lock in virtual time",
		Long: `explore runs the code of locks in virtual time, on emulated servers and a simulated network, with
a random plan of faults for each seed. A violation is minimised to a counterexample, shown as a
list of events with a timeline, and written to a file for lockbench replay.

A fault begins at a point of an iteration, at a fraction of the lease, at the nth command or reply,
or at a time. In half of the seeds, each iteration uses the lock differently: it tries or waits,
holds for up to four leases, renews, nests, or releases by mistake (see the workload varied).

The result depends on the seeds alone, not on the number of cores. Without flags explore takes
about half a minute and explores each supported deployment of each lock.

  lockbench explore --locks redlock@five --faults node-restart,partition
  lockbench explore --locks set-px --seeds 1000

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
	fl.StringSliceVar(&f.faults, "faults", nil, "faults to inject (all)")
	fl.Uint64Var(&f.seeds, "seeds", 0, "number of seeds for each lock (as many as the time allows)")
	fl.DurationVar(&f.time, "for", 30*time.Second, "time to explore, without --seeds")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of all randomness (with --seeds, the first)")
	fl.IntVar(&f.most, "counterexamples", 0, "most counterexamples of each lock (1; up to four locks: 4)")
	fl.IntVar(&f.jobs, "jobs", 0, "concurrent trials (one for each core)")
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
	refused        []string // reasons why some locks cannot be explored
	dir            string
}

func (f *flags) plan(cmd *cobra.Command) (*exploration, error) {
	seeded := cmd.Flags().Changed("seed")
	err := console.Refuse("see lockbench explore --help",
		console.Refusal{If: f.jobs < 0 || f.jobs > 64, What: "--jobs: want 1 to 64, or 0 for one per core"},
		console.Refusal{If: f.most < 0 || f.most > 16, What: "--counterexamples: want 1 to 16"},
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
		if known := explore.StepNames(); !slices.Contains(known, name) {
			return nil, console.Usage(fmt.Errorf("unknown fault %q%s", name, suggest.Meant(name, known)), "lockbench explore --help lists the faults")
		}
	}
	x := &exploration{flags: f, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	subjects, err := x.subjects()
	if err != nil {
		return nil, err
	}
	if f.most == 0 {
		if f.most = 4; len(subjects) > 4 {
			f.most = 1
		}
	}
	if f.jobs == 0 {
		f.jobs = runtime.NumCPU()
	}
	x.campaign = explore.Campaign{Subjects: subjects, First: f.seed, Seeds: f.seeds, For: f.time, Counterexamples: f.most}
	return x, nil
}

func (x *exploration) subjects() ([]explore.Subject, error) {
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

// run explores the locks and prints the result. It returns an error with the exit code.
func (x *exploration) run(ctx context.Context) error {
	if err := sim.Supported(); err != nil {
		return console.Environment(err, "lockbench run --faults injects the same faults into real processes and servers")
	}
	var err error
	if x.dir, err = console.Folder(x.out, "explore"); err != nil {
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
		console.Note(x.stderr, why)
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
	text := explored(result, x.dir)
	err := x.keep(result, text)
	if err != nil {
		return console.Environment(err, "choose another folder with --out")
	}
	if x.asJSON {
		err = json.NewEncoder(x.stdout).Encode(result) // no escaping needed: names of locks and faults contain no invisible characters
	} else {
		_, err = io.WriteString(x.stdout, text)
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
		found[console.ExitInconclusive] = found[console.ExitInconclusive] || len(l.Failed) > 0 // a trial without a verdict makes the result inconclusive; a nondeterministic trial does not
	}
	return found.Err()
}
