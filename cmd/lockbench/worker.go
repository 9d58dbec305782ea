package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/impls/worker"
)

func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "worker",
		Short: "Be one process of clients, for another lockbench: JSON lines on standard input and output",
		Long: `worker runs a lock of the table as a program that speaks the worker protocol, so that something can happen
to its process. lockbench run starts it where a fault needs one; docs/worker-protocol.md describes the lines.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f, ok := cmd.InOrStdin().(*os.File); ok && isTerminal(f) {
				return usage(errors.New("a worker is started by lockbench, which writes to its standard input"), "see docs/worker-protocol.md, or try lockbench run --faults process-pause")
			}
			signal.Ignore(os.Interrupt) // Ctrl-C is for who started it
			if err := worker.Serve(cmd.InOrStdin(), cmd.OutOrStdout(), aboutLock, openLock); err != nil {
				return environment(err, "what it was told is on its standard input")
			}
			return nil
		},
	}
}

func lockNamed(name string) (impls.Impl, error) {
	for _, l := range catalog.All() {
		if l.Name == name {
			return l, nil
		}
	}
	return impls.Impl{}, fmt.Errorf("there is no lock %q", name)
}

func openLock(o worker.Open, env impls.Env) (impls.Lock, error) {
	l, err := lockNamed(o.Lock)
	if err != nil {
		return nil, err
	}
	return l.Open(env)
}

// aboutLock is what the table says of a lock.
func aboutLock(o worker.Open) (worker.About, error) {
	l, err := lockNamed(o.Lock)
	about := worker.About{Name: l.Name, Doc: l.Doc, Deployment: l.Deployment, Reentrant: l.Reentrant, Renews: l.Renews, Fences: l.Fences, BackOff: l.BackOff}
	for _, e := range l.Expect {
		if e.Deployment == "" {
			about.Expect = append(about.Expect, worker.Expect{Property: e.Property, Fault: e.Fault, Workload: e.Workload, Verdict: e.Verdict.String(), Because: e.Because})
		}
	}
	return about, err
}
