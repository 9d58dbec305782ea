// Package cli implements the command lockbench. Run takes arguments, prints text and returns an exit code. Only results are
// printed to stdout. The exit codes are:
//
//   - 0: every expectation was met
//   - 1: a property that was expected to hold was violated
//   - 2: usage error
//   - 3: a result is inconclusive, or figures are too noisy
//   - 4: error of the environment, such as a missing program
//   - 5: a threshold was exceeded
//   - 6: a known defect was not detected
//   - 70: internal error
//   - 130: interrupted
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/internal/cli/advise"
	"lockbench/internal/cli/bench"
	"lockbench/internal/cli/console"
	"lockbench/internal/cli/explore"
	"lockbench/internal/cli/matrix"
	"lockbench/internal/cli/run"
	"lockbench/internal/suggest"
	"lockbench/reports/format"
)

// Run runs the command and returns its exit code.
func Run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	root := rootCommand()
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetArgs(args)
	return execute(ctx, root)
}

func execute(ctx context.Context, root *cobra.Command) (code int) {
	stderr := root.ErrOrStderr()
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "lockbench: internal error: %s\n%s", format.Clean(format.Scrub(fmt.Sprint(p))), debug.Stack())
			code = console.ExitInternal
		}
	}()
	return console.Report(ctx, stderr, root.ExecuteContext(ctx))
}

const rootHelp = `{{.Long}}
{{range $g := .Groups}}{{$task := .Title}}{{range $.Commands}}{{if eq .GroupID $g.ID}}
  {{rpad $task 9}}{{rpad .Name 15}}{{.Short}}{{$task = ""}}{{end}}{{end}}{{end}}

lockbench VERB --help explains a verb and its flags; lockbench --version prints the version.
`

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "lockbench",
		Long:          "lockbench runs distributed locks with concurrent clients and injected faults, and reports which\nlocks exclude, how fast and how fair they are. Begin with lockbench run.",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate("lockbench {{.Version}}\n")
	root.SetHelpTemplate("{{if not .HasParent}}" + rootHelp + "{{else}}" + root.HelpTemplate() + "{{end}}")
	cobra.AddTemplateFunc("plainTypes", strings.NewReplacer("durationSlice", "durations    ", "float64Slice", "numbers     ",
		"stringToString", "name=value    ", "stringArray", "strings    ").Replace)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".LocalFlags.FlagUsages", ".LocalFlags.FlagUsages | plainTypes"))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return plainFlagError(cmd, err) })
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return emptyFlag(cmd) }
	for _, task := range []struct {
		name  string
		verbs []*cobra.Command
	}{
		{"compare", []*cobra.Command{run.Command()}},
		{"verify", []*cobra.Command{run.VerifyCommand(), newWorkerCommand(), checkCommand(), explore.Command(), explore.ReplayCommand(), matrix.Command()}},
		{"measure", []*cobra.Command{bench.Command(), bench.CompareCommand(), bench.GateCommand()}},
		{"choose", []*cobra.Command{advise.Command(), advise.VerifyReportCommand()}},
		{"look", []*cobra.Command{serveCommand(), reportCommand(), listCommand(), versionCommand()}},
		{"other", []*cobra.Command{agentCommand(), librariesCommand(), cleanCommand(), workerCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: task.name, Title: task.name})
		for _, verb := range task.verbs {
			verb.GroupID = task.name
			root.AddCommand(verb)
		}
	}
	root.AddCommand(explorerCommand(), storeCommand(), shopCommand())
	return root
}

// knownVerb returns an error for an unknown command. The error names only commands that the help lists.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, c := range cmd.Commands() {
		if c.GroupID != "" {
			verbs = append(verbs, c.Name())
		}
	}
	hint := "lockbench --help lists the commands"
	if near, ok := suggest.Nearest(args[0], verbs); ok {
		hint = fmt.Sprintf("did you mean %s? %s", near, hint)
	}
	return console.Usage(fmt.Errorf("unknown command %q", args[0]), hint)
}

// plainFlagError rewords an error of the flag library and adds a hint.
func plainFlagError(cmd *cobra.Command, err error) error {
	hint := "see " + cmd.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near, ok := suggest.Nearest(unknown.GetSpecifiedName(), known); ok {
			hint = fmt.Sprintf("did you mean --%s? %s", near, hint)
		}
	case errors.As(err, &invalid):
		kind := strings.TrimSuffix(invalid.GetFlag().Value.Type(), "Slice")
		want := map[string]string{"int": "a whole number", "uint": "a whole number of at least 0", "uint64": "a whole number of at least 0",
			"float64": "a number", "duration": "a duration, such as 500ms or 2s", "bool": "true or false", "stringToString": "name=value"}[kind]
		if want != "" {
			err = fmt.Errorf("--%s %s: want %s", invalid.GetFlag().Name, invalid.GetValue(), want)
		} else {
			err = fmt.Errorf("--%s: %w", invalid.GetFlag().Name, errors.Unwrap(invalid))
		}
	}
	return console.Usage(err, hint)
}

// emptyFlag returns an error for a flag with an empty value. Without this error, a script with an unset variable would select
// everything.
func emptyFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		list, isList := f.Value.(pflag.SliceValue)
		if isList {
			values = list.GetSlice()
		}
		if blank := func(s string) bool { return strings.TrimSpace(s) == "" }; len(values) == 0 || slices.ContainsFunc(values, blank) {
			what := "--%s is empty"
			if len(values) > 1 {
				what = "--%s has an empty element"
			}
			err = console.Usage(fmt.Errorf(what, f.Name), "give it a value, or leave it out")
		}
	})
	return err
}

func versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: console.NoArguments, RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "lockbench", version())
		return err
	}}
}

// packaged is the version of a package built with "make packages". The linker sets it; in other builds it is empty.
var packaged string

// version returns the versions of lockbench and of Go, and the platform.
func version() string {
	module := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		module = info.Main.Version
	}
	module = cmp.Or(packaged, module)
	return fmt.Sprintf("%s %s %s/%s", module, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
