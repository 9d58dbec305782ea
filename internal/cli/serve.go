package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/web/serve"
	"lockbench/reports/bench"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

func serveCommand() *cobra.Command {
	var address string
	var anyone bool
	cmd := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "Show runs, benches and selection reports in a browser",
		Long: `serve shows the folders in DIR (runs/) in a browser: verdicts and reports, a run in progress, two
runs or two benches side by side, and the history of each trial as a timeline. It changes no file.
Ctrl-C ends it.

It has no password, so it listens on this machine only. With --anyone it also listens on an
address that other machines can reach, and every client that can reach it can read all of DIR.

  lockbench serve
  lockbench serve /data/runs --addr 127.0.0.1:0`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return console.Usage(fmt.Errorf("serve shows one folder, got %d arguments", len(args)), "lockbench serve runs")
			}
			return serveFolder(cmd, append(args, "runs")[0], address, anyone)
		},
	}
	cmd.Flags().StringVar(&address, "addr", "127.0.0.1:7070", "address to listen on; port 0 picks a free port")
	cmd.Flags().BoolVar(&anyone, "anyone", false, "allow an address that other machines can reach, without a password")
	return cmd
}

func serveFolder(cmd *cobra.Command, dir, address string, anyone bool) error {
	const takes, hint = "the folder that contains run and bench folders", "lockbench serve runs"
	for _, name := range []string{run.ManifestName, bench.PlanName, selection.DataName} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return choice.Misplaced(dir, takes, nil, hint)
		}
	}
	s, err := serve.New(dir)
	if err != nil {
		return choice.Misplaced(dir, takes, err, hint)
	}
	defer s.Close()
	l, err := serve.Listen(address, anyone)
	switch {
	case errors.Is(err, serve.ErrNotLoopback):
		return console.Usage(err, "listen on 127.0.0.1, or add --anyone if every client that can reach that address may read all of "+dir)
	case errors.Is(err, serve.ErrNoAddress):
		return console.Usage(err, "lockbench serve --addr 127.0.0.1:0")
	case err != nil:
		return console.Environment(err, "choose another address with --addr; port 0 picks a free port")
	}
	host, _, _ := net.SplitHostPort(address) // no error: Listen has accepted the address
	if anyone && !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		fmt.Fprintln(cmd.ErrOrStderr(), "note: every client that can reach this address can read all of "+dir+": there is no password")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "http://%s/\n", l.Addr())
	fmt.Fprintln(cmd.ErrOrStderr(), "Ctrl-C ends it")
	if err := s.Run(cmd.Context(), l, host); err != nil {
		return console.Environment(err, "start it again")
	}
	return cmd.Context().Err()
}
