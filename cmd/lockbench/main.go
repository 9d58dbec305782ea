// Command lockbench drives distributed locks, records what happens, judges the record and reports.
//
// Results go to stdout, everything else to stderr. Exit codes: 0 every claim kept and every control
// caught; 1 a claim broken; 2 usage; 3 a claimed property undecided, or figures too noisy to tell; 4
// environment; 5 a limit of gate breached; 6 a control not caught; 70 internal; 130 interrupted.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	redislocks "lockbench/impls/redis"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once
	redislocks.Quiet()
	os.Exit(lockbench(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}
