package main

import (
	"errors"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"lockbench/impls"
	redislocks "lockbench/impls/redis"
	"lockbench/internal/drive/shop"
)

func shopCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "shop",
		Short:  "Be one process of a shop, for another lockbench",
		Long:   "shop is an order service over HTTP, as the workload flash-sale has several of. lockbench run starts it; docs/flash-sale.md describes what it does.",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f, ok := cmd.InOrStdin().(*os.File); ok && isTerminal(f) {
				return usage(errors.New("a shop is started by lockbench, which writes to its standard input"), "try lockbench run --workloads flash-sale")
			}
			signal.Ignore(os.Interrupt) // Ctrl-C is for who started it
			redislocks.Quiet()
			err := shop.Serve(cmd.InOrStdin(), cmd.OutOrStdout(), func(lock string, env impls.Env) (impls.Lock, error) {
				l, err := lockNamed(lock)
				if err != nil {
					return nil, err
				}
				return l.Open(env)
			})
			if err != nil {
				return environment(err, "what it was told is on its standard input")
			}
			return nil
		},
	}
}
