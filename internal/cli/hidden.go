package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"

	"github.com/spf13/cobra"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/shop"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/world/builtin"
	"lockbench/internal/world/servers"
)

// The following functions return hidden commands, which lockbench runs in child processes. These commands read requests
// from standard input.

func workerCommand() *cobra.Command {
	cmd := process("worker", "Serve a built-in lock by the worker protocol", "a worker is started by lockbench",
		"see docs/reference/worker-protocol.md, or try lockbench run --faults process-pause", func(in io.Reader, out io.Writer) error {
			return worker.Serve(in, out, aboutLock, func(o worker.Open, env impls.Env) (impls.Lock, error) { return openLock(o.Lock, env) })
		})
	cmd.Long = `worker runs a built-in lock as a process that speaks the worker protocol on its standard input and
output (docs/reference/worker-protocol.md). lockbench run starts it if a fault needs a process.`
	return cmd
}

func shopCommand() *cobra.Command {
	return process("shop", "Run a service of the shop: see docs/faults-and-scenarios.md", "a shop is started by lockbench",
		"try lockbench run --workloads flash-sale", func(in io.Reader, out io.Writer) error { return shop.Serve(in, out, openLock) })
}

func explorerCommand() *cobra.Command {
	return process("explorer", "Run a process of lockbench explore", "an explorer is started by lockbench explore", "try lockbench explore",
		func(in io.Reader, out io.Writer) error {
			debug.SetGCPercent(1600) // collect garbage less often, because little of the heap is in use
			return explore.Serve(in, out, func() { os.Exit(0) })
		})
}

// process returns a hidden command that serves requests on standard input. The command refuses to run on a terminal.
func process(name, short, what, hint string, serve func(io.Reader, io.Writer) error) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Args: console.NoArguments, RunE: func(cmd *cobra.Command, _ []string) error {
		if console.IsTerminal(cmd.InOrStdin()) {
			return console.Usage(errors.New(what+", which writes to its standard input"), hint)
		}
		signal.Ignore(os.Interrupt) // the parent process handles Ctrl-C
		if err := serve(cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
			return console.Environment(err, "its requests are on its standard input")
		}
		return nil
	}}
}

// storeCommand returns a hidden command that runs the server of a store that is implemented in Go, such as etcd. Lockbench
// starts this command in a child process.
func storeCommand() *cobra.Command {
	return &cobra.Command{
		Use:                servers.StoreVerb,
		DisableFlagParsing: true, // pass all arguments to the store, which parses them
		RunE: func(cmd *cobra.Command, args []string) error {
			signal.Ignore(os.Interrupt) // the parent process handles Ctrl-C
			if err := builtin.Serve(cmd.Context(), args, cmd.ErrOrStderr()); err != nil {
				return console.Environment(err, "lockbench starts such servers by itself")
			}
			return nil
		},
	}
}

func lockNamed(name string) (impls.Impl, error) {
	l, err := choice.Locks.One(name)
	if err != nil {
		err = fmt.Errorf("there is no lock %q", name)
	}
	return l, err
}

func openLock(name string, env impls.Env) (impls.Lock, error) {
	l, err := lockNamed(name)
	if err != nil {
		return nil, err
	}
	return l.Open(env)
}

func aboutLock(o worker.Open) (worker.About, error) {
	l, err := lockNamed(o.Lock)
	return worker.AboutLock(l), err
}
