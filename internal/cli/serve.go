package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

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
		Short: "Show the folders of runs, benches and advice in a browser",
		Long: `serve shows the folders in DIR (runs/) in a browser: their verdicts and reports, a run in progress, two runs or two benches
side by side, and each trial's history as a timeline that can be zoomed and filtered. It only reads. Ctrl-C ends it.

There is no password, so it listens on this machine alone. With --anyone it listens on --addr, and everyone who can reach
that address can read all of DIR.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return console.Usage(fmt.Errorf("serve shows one folder, got %d arguments", len(args)), "lockbench serve runs")
			}
			return serveFolder(cmd, append(args, "runs")[0], address, anyone)
		},
	}
	cmd.Flags().StringVar(&address, "addr", "127.0.0.1:7070", "address to listen on; port 0 picks a free port")
	cmd.Flags().BoolVar(&anyone, "anyone", false, "listen also on an address that other machines can reach: there is no password")
	return cmd
}

func serveFolder(cmd *cobra.Command, dir, address string, anyone bool) error {
	for _, name := range []string{run.ManifestName, bench.PlanName, selection.DataName} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return console.Usage(fmt.Errorf("%s is one folder: there is a %s in it", dir, name), "serve shows the folder in which such folders lie: lockbench serve runs")
		}
	}
	s, err := serve.New(dir)
	if err != nil {
		return console.Usage(err, "serve shows a folder that lockbench run, bench or advise left folders in; by default runs")
	}
	defer s.Close()
	l, err := serve.Listen(address, anyone)
	switch {
	case errors.Is(err, serve.ErrNotLoopback):
		return console.Usage(err, "listen on 127.0.0.1, or add --anyone if everyone who can reach that address may read all of "+dir)
	case errors.Is(err, serve.ErrNoAddress):
		return console.Usage(err, "lockbench serve --addr 127.0.0.1:0")
	case err != nil:
		return console.Environment(err, "choose another address with --addr; port 0 picks a free port")
	}
	host, _, _ := net.SplitHostPort(address) // Listen has taken it
	if anyone && !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		fmt.Fprintln(cmd.ErrOrStderr(), "note: everyone who can reach this address can read all of "+dir+": there is no password")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "http://%s/\n", l.Addr())
	fmt.Fprintln(cmd.ErrOrStderr(), "Ctrl-C ends it")
	// It has no other end than being interrupted, so that nothing is cut short by that: the exit code is 0.
	if err := s.Run(cmd.Context(), l, host); err != nil {
		return console.Environment(err, "start it again")
	}
	return nil
}
