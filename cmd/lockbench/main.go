// Command lockbench drives distributed locks, records what happens, judges the record and reports. Package cli documents its
// exit codes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"lockbench/impls"
	"lockbench/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once
	impls.Quiet()
	os.Exit(cli.Run(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}
