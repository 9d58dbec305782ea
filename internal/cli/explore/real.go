package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"lockbench/impls"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/world/servers"
	"lockbench/reports/format"
	"lockbench/workloads"
)

// onServers is the result of running a case on real processes and servers.
type onServers struct {
	Server    string   `json:"server,omitempty"` // product, version and kind of the server
	Shows     bool     `json:"shows"`
	In        int      `json:"shown_in"`            // number of trials in which the property was violated
	Trials    int      `json:"trials"`              // number of trials with a verdict
	Discarded int      `json:"discarded,omitempty"` // number of trials that say nothing about the lock
	Why       string   `json:"why,omitempty"`       // reason why a trial was discarded
	Events    []string `json:"events,omitempty"`
	Missing   string   `json:"incomplete,omitempty"` // steps of the fault plan that had no effect in the trial whose events are shown
	Example   string   `json:"example,omitempty"`    // one sentence that describes the violation
	History   string   `json:"history,omitempty"`    // path of the history that contains the violation

	timeline string
	disagree bool // whether the exclusion monitor and Porcupine reach different verdicts
}

const hintServers = "apt install redis-server; without --servers a case is run in simulation only"

// Numbers of concurrent trials for each core. Real trials mostly wait, so there can be more trials than cores. Each trial has
// its own servers. A Redis server (realJobs) needs the least processor time, another server or several of them more
// (otherJobs). Workers with a slow runtime need the most (slowJobs).
const (
	realJobs  = 10
	otherJobs = 4
	slowJobs  = 3
)

// jobsFor returns the number of concurrent trials of the subjects.
func jobsFor(subjects []explore.Subject) int {
	for _, s := range subjects {
		if store, several := s.Store(); several || store != "redis" && store != "" {
			return otherJobs * runtime.NumCPU()
		}
	}
	return realJobs * runtime.NumCPU()
}

// newReal returns an engine that runs cases on real servers, with at most the given number of concurrent trials (parameter
// jobs).
func newReal(on choice.Servers, lockParams map[string]string, jobs int) (*explore.Real, error) {
	own, err := trial.OwnWorker()
	if err != nil {
		return nil, console.Environment(err, "clients run in processes of this program")
	}
	setting := trial.Setting{Servers: on.How, Remote: on.Remote, Params: workloads.Defaults(), LockParams: lockParams, Worker: own, Self: own[0]}
	return explore.NewReal(setting, choice.RunID, jobs), nil
}

// register makes the lock of a user's worker available to cases. It returns notes about faults that are left out and about a slow
// runtime. If the runtime is slow, it sets a low number of concurrent trials unless the user has set the number.
func register(ctx context.Context, w choice.Worker, on choice.Servers, params map[string]string, jobs *int) (own impls.Impl, notes []string, err error) {
	own, pace, err := w.Describe(ctx, choice.First{Servers: on, Params: params, TTL: faults.UsualTTL})
	if err != nil {
		return own, nil, err
	}
	if pace.Slow() {
		own.Shortest = pace.Lease(&own)
		*jobs = cmp.Or(*jobs, slowJobs*runtime.NumCPU())
		notes = append(notes, fmt.Sprintf("%s started in %v and answers a ping in %v: --jobs %d, and leases of at least %v",
			own.Name, pace.Start.Round(100*time.Millisecond), pace.Ping.Round(time.Millisecond), *jobs, own.Shortest))
	}
	if why := own.Program.FixedClock; why != "" {
		notes = append(notes, "client-clock-forward, client-clock-back and client-clock-drift are left out: "+why)
	}
	explore.Register(own)
	return own, notes, nil
}

// checkReal returns an error if a case cannot run on real servers.
func checkReal(c explore.Case, remote servers.Remote) error {
	cell, err := c.Cell()
	if err != nil {
		return console.Usage(err, "leave out --servers to run it in simulation only")
	}
	if _, left := trial.Fitting([]trial.Cell{cell}, c.Servers, remote); len(left) > 0 {
		return console.Environment(errors.New(left[0]), hintServers)
	}
	return nil
}

// onServers runs trials of a case concurrently on real servers. If the property was violated, it writes the history of
// one of these trials.
func (f replayFlags) onServers(ctx context.Context, stderr io.Writer, c explore.Case, property string, width int) (said *onServers, err error) {
	said = &onServers{}
	dir, err := console.Folder(f.out, "replay")
	if err != nil {
		return said, err
	}
	real, err := newReal(f.servers, f.params, cmp.Or(f.jobs, jobsFor([]explore.Subject{{Lock: c.Lock}})))
	if err != nil {
		return said, err
	}
	defer func() { err = errors.Join(err, real.Close()) }()
	fmt.Fprintf(stderr, "running %s on real servers\n", format.Plural(f.attempts, "trial"))
	shown, rate, err := real.Repeat(ctx, c, property, f.attempts, width)
	said.In, said.Trials, said.Discarded, said.Why = rate.Shows, rate.Trials, rate.Discarded, format.Scrub(rate.Why)
	switch {
	case ctx.Err() != nil:
		return said, nil
	case err != nil:
		return said, console.Environment(fmt.Errorf("run the case on real servers: %w", err), hintServers)
	case rate.Shows == 0:
		return said, nil
	}
	said.Shows, said.Server, said.Events, said.timeline = true, shown.Server, shown.Events, shown.Timeline
	said.Missing, said.disagree = format.Scrub(shown.Incomplete), len(shown.Disagreements) > 0
	said.Example, said.History = shown.Example, filepath.Join(dir, shown.History.Name)
	if err := os.WriteFile(said.History, []byte(shown.History.Text), 0o644); err != nil {
		return said, console.Environment(err, "choose another folder with --out")
	}
	return said, nil
}

func (s *onServers) print(w io.Writer, property string) {
	on := "on " + cmp.Or(s.Server, "real servers")
	if s.Shows {
		fmt.Fprintf(w, "%s: %s violated in %d of %s\n  %s\n", on, property, s.In, format.Plural(s.Trials, "trial"), s.Example)
		if s.Missing != "" {
			fmt.Fprintf(w, "  not all of the plan took place: %s\n", s.Missing)
		}
		fmt.Fprintf(w, "  history: %s\n", s.History)
	} else {
		fmt.Fprintf(w, "%s: %s not violated in %s\n", on, property, format.Plural(s.Trials, "trial"))
	}
	if s.Discarded > 0 {
		fmt.Fprintf(w, "  %s: %s\n", format.Plural(s.Discarded, "discarded trial"), s.Why)
	}
}
