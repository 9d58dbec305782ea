package cli

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/cli/explore"
	"lockbench/internal/cli/matrix"
	"lockbench/internal/cli/run"
	"lockbench/internal/fleet"
	"lockbench/internal/measure"
	"lockbench/internal/measure/spread"
	search "lockbench/internal/simulate/explore"
	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
	"lockbench/reports/format"
)

// agentCommand returns the command agent, which runs trials for a coordinator.
func agentCommand() *cobra.Command {
	var at fleet.Address
	var slots int
	var allowed []string
	var own choice.Own
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run trials for another process or machine",
		Long: `agent takes trials from the queue of a coordinator, runs them on this machine, and returns the
results until it is interrupted. The coordinator is a command with --listen or --nats. If it is
silent for ten seconds, the agent ends its trials and heals their faults.

An agent runs only what this program contains. The command of a user's worker must be allowed. It
puts load only on servers that are named here, and takes their passwords from here too.

  lockbench run --faults expected --listen nats://127.0.0.1:4222
  lockbench agent --join nats://127.0.0.1:4222
  lockbench agent --join nats://127.0.0.1:4222 --redis redis://127.0.0.1:6379

Exit codes: 2 wrong usage; 4 the queue cannot be reached; 130 interrupted.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := console.Refuse("see lockbench agent --help",
				console.Refusal{If: at.URL == "", What: "--join is missing", Hint: "the coordinator prints the address; see docs/scale.md"},
				console.Refusal{If: slots < 1 || slots > 256, What: "--slots: want 1 to 256"}); err != nil {
				return err
			}
			if !strings.Contains(at.URL, "://") {
				invited, err := fleet.Invited(at.URL)
				if err != nil {
					return console.Usage(err, "want an address such as nats://127.0.0.1:4222, or the file that the coordinator wrote")
				}
				at = invited
			}
			if err := at.Check(); err != nil {
				return console.Usage(err, "use tls://HOST:4222, or the file that the coordinator wrote; see docs/scale.md")
			}
			remote, err := own.Remote()
			if err != nil {
				return err
			}
			return runAgent(cmd, at, slots, allowed, remote)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	choice.DefineNATS(fl, &at, "join", "address of the queue, or the file join.json of a coordinator")
	fl.IntVar(&slots, "slots", runtime.NumCPU(), "number of trials at the same time")
	own.Define(fl)
	fl.StringArrayVar(&allowed, "allow-worker", nil, "command of a worker that a coordinator may start here")
	return cmd
}

// runAgent runs an agent until the command is interrupted.
func runAgent(cmd *cobra.Command, at fleet.Address, slots int, allowed []string, remote servers.Remote) (err error) {
	machine := &explore.Machine{Slots: slots, Allowed: allowed}
	defer func() { err = errors.Join(machine.Close(), err) }()
	console.Note(cmd.ErrOrStderr(), fmt.Sprintf("joining %s with %s; Ctrl-C ends the agent", at, format.Plural(slots, "slot")))
	keeper, err := children.New()
	if err != nil {
		return console.Environment(err, "an agent starts processes")
	}
	defer func() { err = errors.Join(keeper.Close(), err) }()
	work, err := keeper.Folder()
	if err != nil {
		return console.Environment(err, "set TMPDIR to a folder that can be written to")
	}
	host := &run.Host{Work: work, Allowed: allowed}
	defer func() { err = errors.Join(host.Close(), err) }()
	began := time.Now()
	seat := &spread.Seat{Remote: remote, Dial: measure.Delayed, Clock: func(at time.Time) time.Duration { return at.Sub(began) }}
	agent, err := fleet.Join(cmd.Context(), at, fleet.Offer{Slots: slots, Calls: seat.Calls(), Clock: seat.Clock,
		Tasks: fleet.Handlers{search.TaskKind: machine.Handler(), matrix.TaskKind: matrix.Handler(work, nil), run.TaskKind: host.Handler()}})
	if err != nil {
		return console.Environment(err, "is the coordinator running? docs/scale.md shows how to start it")
	}
	defer agent.Close()
	live := console.NewLive(cmd.ErrOrStderr(), func() string {
		s := agent.State()
		if n, ok := seat.Granted(); ok {
			return fmt.Sprintf("a trial of bench: %s grants", format.Count(int(n)))
		}
		if len(s.Running) == 0 {
			return "" // an idle agent waits for days
		}
		return fmt.Sprintf("%s running, %s done", format.Plural(len(s.Running), "task"), format.Count(s.Done))
	})
	defer live.Close()
	<-cmd.Context().Done()
	return &console.Exit{Code: console.ExitInterrupted}
}
