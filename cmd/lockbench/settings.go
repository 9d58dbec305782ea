package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/reports/run"
	"lockbench/workloads"
)

// reproduce is the one line that does the run again: every flag that was set, and the seed.
func reproduce(cmd *cobra.Command) string {
	line := "go run ./cmd/lockbench " + cmd.Name()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "out" && f.Name != "json" && f.Name != "help" || f.Name == "seed" {
			line += fmt.Sprintf(" --%s=%s", f.Name, strings.Trim(f.Value.String(), "[]"))
		}
	})
	return line
}

// parameters are the settings of a run, for people.
func parameters(p workloads.Params) []run.Parameter {
	wait := "until granted"
	if p.Wait > 0 {
		wait = p.Wait.String()
	}
	return []run.Parameter{
		{Name: "clients", Value: fmt.Sprint(p.Clients), Text: "at once, in a closed loop: each thinks, asks, works, releases"},
		{Name: "processes", Value: fmt.Sprint(p.Processes), Text: "locks that the clients are spread over"},
		{Name: "duration", Value: p.Duration.String(), Text: "of each trial; what is under way then is finished"},
		{Name: "ttl", Value: p.TTL.String(), Text: "the lease each client asks for, where the lock has leases"},
		{Name: "wait", Value: wait, Text: "how long a client waits; in the workload try not at all"},
		{Name: "hold", Value: p.Hold.String(), Text: "time asked for inside the critical section; what it came to was measured"},
		{Name: "think", Value: p.Think.String(), Text: "mean time between two iterations, uniform from 0 to twice that"},
		{Name: "keys", Value: fmt.Sprintf("%d, %s", p.Keys, p.Spread), Text: "different locks, and how clients choose among them"},
		{Name: "seed", Value: fmt.Sprint(p.Seed), Text: "of all randomness but the machine's own timing"},
	}
}
