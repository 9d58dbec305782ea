package main

import (
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"lockbench/internal/world/builtin"
	"lockbench/internal/world/servers"
)

// storeCommand is for lockbench itself: a server that is a Go module, in a process of its own.
func storeCommand() *cobra.Command {
	return &cobra.Command{
		Use:                servers.StoreVerb,
		Hidden:             true,
		DisableFlagParsing: true, // the arguments are the store's
		RunE: func(cmd *cobra.Command, args []string) error {
			signal.Ignore(os.Interrupt) // Ctrl-C is for who started it
			if err := builtin.Serve(cmd.Context(), args, cmd.ErrOrStderr()); err != nil {
				return environment(err, "lockbench starts such servers by itself")
			}
			return nil
		},
	}
}
