// Command lockbench tests and benchmarks distributed locks. It records every operation and checks the recorded
// histories. Package cli documents the exit codes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	redislocks "lockbench/impls/redis"
	"lockbench/internal/cli"
	"lockbench/internal/cli/console"
)

func main() {
	ctx, interrupt := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		interrupt()
		select {
		case <-signals:
		case <-time.After(time.Second): // the command still runs one second after the interrupt: print a hint
			fmt.Fprintln(os.Stderr, "interrupted: results so far are reported; Ctrl-C again ends at once")
			<-signals
		}
		os.Exit(console.ExitInterrupted) // exiting also ends the child processes
	}()
	redislocks.Quiet()
	os.Exit(cli.Run(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}
