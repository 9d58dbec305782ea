package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/impls/libraries"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/reports/format"
)

func librariesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "libraries",
		Short: "List and install third-party lock libraries to test",
		Long: `libraries lists the third-party lock libraries that lockbench can test, with their settings and
versions. A bad version has a known defect, and the fixed one does not.

  lockbench libraries
  lockbench libraries install redisson@3.16.2
  lockbench verify --library redisson@3.16.2`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := libraries.All()
			if err != nil {
				return err
			}
			if asJSON {
				return console.JSON(cmd.OutOrStdout(), all)
			}
			return printLibraries(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (an array with the contents of each library.yaml)")
	cmd.AddCommand(installCommand())
	return cmd
}

func installCommand() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "install NAME[@VERSION]...",
		Short: "Install versions of libraries, and print the commands of their workers",
		Long: `install downloads versions of libraries from their registries into the cache folder, builds their
adapters, and prints the command that starts each worker. Without a version it installs the current
one. --library of run, verify, explore and replay does the same.

  lockbench libraries install redsync redisson@3.16.2`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var chosen []libraries.Choice
			for _, name := range args {
				c, err := choice.Library(name)
				if err != nil {
					return err
				}
				chosen = append(chosen, c)
			}
			for _, c := range chosen {
				log := io.Discard
				if verbose {
					log = cmd.ErrOrStderr()
				}
				folder, err := choice.InstallLibrary(cmd.Context(), cmd.ErrOrStderr(), c, log)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), c.Command(folder)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&verbose, "verbose", false, "print the output of the tools")
	return cmd
}

func printLibraries(w io.Writer, all []libraries.Library) error {
	var t format.Lines
	for _, l := range all {
		var settings, versions []string
		for _, s := range l.Settings {
			settings = append(settings, s.Name)
		}
		for _, v := range l.Versions {
			versions = append(versions, v.Version+" "+v.State)
		}
		t.Hang(format.Pad(l.Name, widest(all))+"  ", fmt.Sprintf("%s, %s: %s", l.Language, l.Store, strings.Join(versions, ", ")))
		if len(settings) > 1 {
			t.Hang(format.Pad("", widest(all))+"  ", "as "+strings.Join(settings, ", "))
		}
	}
	_, err := t.WriteTo(w)
	return err
}

func widest(all []libraries.Library) (wide int) {
	for _, l := range all {
		wide = max(wide, format.Width(l.Name))
	}
	return wide
}
