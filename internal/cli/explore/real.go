package explore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"

	"github.com/spf13/cobra"

	"lockbench/checker"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/trial"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/world/servers"
	"lockbench/reports/format"
)

// onServers is the result of running a counterexample on real processes and servers.
type onServers struct {
	Server  string `json:"server,omitempty"` // product, version and kind of the server
	Shows   bool   `json:"shows"`
	Trials  int    `json:"trials"`            // number of completed trials; the last one contains the violation, if any
	Of      int    `json:"of"`                // planned number of trials
	Missed  int    `json:"missed,omitempty"`  // number of completed trials in which some steps of the plan had no effect
	GaveUp  string `json:"gave_up,omitempty"` // reason why the trials ended early without a violation
	Example string `json:"example,omitempty"` // one sentence that describes the violation
	History string `json:"history,omitempty"` // path of the history that contains the violation
	Folder  string `json:"folder,omitempty"`  // folder with all trials

	disagree bool // whether the exclusion monitor and Porcupine reach different verdicts on some trial
}

const hintServers = "apt install redis-server; without --servers a case is run in simulation only"

// realCell returns the trial configuration (cell) that runs a counterexample with real processes and servers.
func realCell(c explore.Case) (trial.Cell, error) {
	t, err := c.Trial()
	if err != nil {
		return trial.Cell{}, err
	}
	cell, err := trial.Planned(explore.Fault, t.Lock, c.Deployment, t.Workload, c.Params, c.Plan)
	if err != nil {
		return cell, console.Usage(err, "leave out --servers to run it in simulation only")
	}
	if _, left := trial.Fitting([]trial.Cell{cell}, servers.Local, servers.Remote{}); len(left) > 0 {
		return cell, console.Environment(errors.New(left[0]), hintServers)
	}
	return cell, nil
}

// onServers runs a counterexample repeatedly until the property of the counterexample is violated. The result is valid even if
// an error is returned.
func (f replayFlags) onServers(cmd *cobra.Command, cell trial.Cell, file explore.File) (*onServers, error) {
	said := &onServers{Of: f.attempts}
	dir, err := console.Folder(f.out, "replay")
	if err != nil {
		return said, err
	}
	own, err := trial.OwnWorker()
	if err != nil {
		return said, console.Environment(err, "clients run in processes of this program")
	}
	setting := trial.Setting{Run: choice.RunID(), Servers: servers.Local, Params: file.Params, LockParams: file.LockParams, Worker: own, Trials: f.attempts}
	said.Folder = filepath.Join(dir, filepath.FromSlash(cell.Dir()))
	stderr := cmd.ErrOrStderr()
	for n := range f.attempts {
		fmt.Fprintf(stderr, "trial %d of %d on real servers\n", n+1, f.attempts)
		out, err := setting.Try(cmd.Context(), cell, said.Folder, n, new(atomic.Int64))
		switch {
		case cmd.Context().Err() != nil:
			said.GaveUp = "interrupted"
			return said, nil
		case err != nil:
			said.GaveUp = format.Scrub(err.Error())
			if errors.Is(err, trial.ErrDiscarded) {
				return said, nil
			}
			return said, console.Environment(err, hintServers)
		}
		said.take(stderr, out, file.Property)
		if said.Shows {
			break
		}
	}
	return said, nil
}

func (s *onServers) take(stderr io.Writer, out trial.Outcome, property string) {
	s.Trials++
	s.Server = out.Server
	if out.Missed != "" {
		s.Missed++
		fmt.Fprintf(stderr, "  not all of the plan took place: %s\n", format.Scrub(out.Missed))
	}
	s.disagree = s.disagree || len(out.Verdict.Oracle.Disagreements) > 0
	finding := out.Verdict.Finding(property)
	if finding.Observed != checker.Violated {
		fmt.Fprintf(stderr, "  %s is not violated in %s\n", property, format.Plural(out.Verdict.Counts.Grants, "grant"))
		return
	}
	s.Shows, s.History = true, filepath.Join(out.Dir, "history.jsonl.zst")
	if w := finding.Witness; w != nil {
		s.Example = w.Sentence
	}
}

func (s *onServers) print(w io.Writer, property string) {
	on := "on " + cmp.Or(s.Server, "real servers")
	switch {
	case s.Shows:
		fmt.Fprintf(w, "%s: %s violated in trial %d of %d\n  %s\n  history: %s\n", on, property, s.Trials, s.Of, s.Example, s.History)
	case s.GaveUp != "":
		fmt.Fprintf(w, "%s: %s not violated in %s, then stopped: %s\n", on, property, format.Plural(s.Trials, "trial"), s.GaveUp)
	default:
		fmt.Fprintf(w, "%s: %s not violated in %s\n", on, property, format.Plural(s.Trials, "trial"))
		if s.Missed > 0 {
			fmt.Fprintf(w, "  in %d of them not all of the plan took place\n", s.Missed)
		}
		fmt.Fprintf(w, "  histories: %s\n", s.Folder)
	}
}
