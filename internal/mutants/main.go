// Command mutants measures which mistakes in locks lockbench detects. Each patch in the folder patches inserts one mistake
// into a correct lock. For each patch, the command builds lockbench with the mistake. It then runs this lockbench in
// stages until an expectation is violated. It prints a line for each mutant, and writes detection.md and detection.json.
//
//	go run ./internal/mutants --only redisson-publish-forgotten --stages run,faults
//
// The exit code is 0 if every mutant was measured, detected or not. It is 1 if a patch does not apply, a mutant does not
// build, or a stage cannot run. With --unchanged it is also 1 if a stage reports a violation by an unchanged lock.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

const exitInterrupted = 130

type options struct {
	only, stages []string
	search       time.Duration // duration of the stages "virtual" and "real"
	jobs         int
	out          string
	unchanged    bool // measure the locks without a mistake; no stage may detect anything
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(code)
}

// run measures the chosen mutants and returns the exit code.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	o, err := parse(stderr, args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	var table *results
	if err == nil {
		table, err = o.measure(ctx, stdout)
	}
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case err != nil:
		fmt.Fprintln(stderr, "mutants:", err)
		return 1
	case table.failed(o.unchanged):
		return 1
	}
	return 0
}

func parse(stderr io.Writer, args []string) (o options, err error) {
	fl := pflag.NewFlagSet("mutants", pflag.ContinueOnError)
	fl.SetOutput(stderr)
	fl.SortFlags = false
	fl.StringSliceVar(&o.only, "only", nil, "names of mutants (all)")
	fl.StringSliceVar(&o.stages, "stages", stageNames(), "stages to run, in their order, until one detects the mutant")
	fl.DurationVar(&o.search, "for", 10*time.Minute, "time of the stages virtual and real")
	fl.IntVar(&o.jobs, "jobs", 1, "mutants to measure at once")
	fl.StringVar(&o.out, "out", filepath.Join("runs", "mutants"), "folder for detection.md, detection.json and the output of each stage")
	fl.BoolVar(&o.unchanged, "unchanged", false, "measure the unchanged locks of the chosen mutants, which must not be detected")
	if err := fl.Parse(args); err != nil {
		return o, err
	}
	for _, s := range o.stages {
		if !slices.Contains(stageNames(), s) {
			return o, fmt.Errorf("unknown stage %q: want %s", s, strings.Join(stageNames(), ", "))
		}
	}
	if o.jobs < 1 || o.search < time.Second {
		return o, errors.New("want at least --jobs 1 and --for 1s")
	}
	return o, nil
}

// measure measures the chosen mutants. After each mutant it prints a line and writes the tables. An interrupted
// measurement thus keeps its finished rows.
func (o options) measure(ctx context.Context, stdout io.Writer) (*results, error) {
	chosen, err := o.choose()
	if err != nil {
		return nil, err
	}
	if o.out, err = filepath.Abs(o.out); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lockbench-mutants-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	module, err := copyModule(ctx, ".", filepath.Join(dir, "module"))
	if err != nil {
		return nil, err
	}
	m := &measurement{module: module, dir: dir, out: o.out, stages: o.plan(), search: o.search}
	table, work := &results{}, make(chan mutant)
	var mu sync.Mutex
	var workers sync.WaitGroup
	var failed error
	for range o.jobs {
		workers.Go(func() {
			for one := range work {
				row := m.row(ctx, one)
				mu.Lock()
				if ctx.Err() == nil {
					fmt.Fprintln(stdout, row.line())
					table.add(row)
					failed = errors.Join(failed, table.write(o.out))
				}
				mu.Unlock()
			}
		})
	}
	for _, one := range chosen {
		if ctx.Err() == nil {
			work <- one
		}
	}
	close(work)
	workers.Wait()
	fmt.Fprintln(stdout, table.summary())
	return table, failed
}

// choose returns the mutants to measure. With --unchanged, it returns each lock of the mutants once, without a patch.
func (o options) choose() ([]mutant, error) {
	all, err := readMutants(".")
	if err != nil {
		return nil, err
	}
	for _, name := range o.only {
		if !slices.ContainsFunc(all, func(m mutant) bool { return m.name == name }) {
			return nil, fmt.Errorf("unknown mutant %q: the folder %s has their patches", name, patches)
		}
	}
	if len(o.only) > 0 {
		all = slices.DeleteFunc(all, func(m mutant) bool { return !slices.Contains(o.only, m.name) })
	}
	if o.unchanged {
		return unchanged(all), nil
	}
	return all, nil
}
