// Package matrix implements the command matrix, which tests versions of third-party libraries and writes their pages.
package matrix

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"lockbench/impls/libraries"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/reports/format"
	"lockbench/reports/matrix"
)

// profile states what is run for each version. A change of what it runs needs a new version number.
type profile struct {
	Name    string        // with the version of the profile
	Scenes  []string      // flags of lockbench verify; nil: no scenes
	Search  time.Duration // duration of the search; 0: no search
	Known   bool          // whether the scene or the case that shows a known defect is run
	Timeout time.Duration // maximum duration of the scenes and the search of a version
}

// knownTimeout is the maximum duration of the scene or the case that shows a known defect.
const knownTimeout = 2 * time.Minute

var profiles = map[string]profile{
	"quick": {"quick/2", []string{"--trials", "1"}, 20 * time.Second, true, 5 * time.Minute},
	"full":  {"full/2", []string{"--trials", "3"}, 4 * time.Minute, true, 10 * time.Minute},
	"known": {Name: "known/1", Known: true},
	"smoke": {Name: "smoke/1", Scenes: []string{"--trials", "1", "--workloads", "counter", "--faults", "none"}, Timeout: time.Minute},
}

type flags struct {
	libraries []string
	versions  string
	profile   string
	jobs      int
	out       string
	work      string
	again     bool
	since     string
	fleet     choice.Fleet
}

// Command returns the command matrix.
func Command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Test versions of lock libraries, and write a matrix of the results",
		Long: `matrix installs versions of third-party libraries and tests each: the default workloads and faults
of lockbench verify, then a search with lockbench explore, and the scene or the case that shows a
known defect, in the version with the defect and in the version that fixed it. That is the profile
quick; full takes up to ten minutes for each version. Results and pages stay in --out. A version
with a result of the same profile there is not tested again.

  lockbench matrix --libraries redsync,redisson
  lockbench matrix --versions bad --profile full

With --listen or --nats, lockbench agent tests versions on other machines too (docs/scale.md).

Exit codes: 0 no violation, except in versions with a known defect; 1 a violation in another
version; 2 wrong usage; 4 a library could not be tested; 6 a known defect was not detected; 130
interrupted.`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringSliceVar(&f.libraries, "libraries", nil, "libraries to test, as NAME or NAME@VERSION (all)")
	fl.StringVar(&f.versions, "versions", "latest", "latest, bad (with a known defect, and fixed) or all")
	fl.StringVar(&f.profile, "profile", "quick", "quick, full, known (defects) or smoke (one trial)")
	fl.IntVar(&f.jobs, "jobs", 1, "concurrent trials (here of versions)")
	fl.StringVar(&f.out, "out", filepath.Join("reports", "published", "libraries"), "folder for results and pages")
	fl.StringVar(&f.work, "work", "", "folder for histories and logs (runs/<time>-matrix)")
	fl.BoolVar(&f.again, "again", false, "test versions again that have a result")
	f.fleet.Define(fl, false)
	fl.StringVar(&f.since, "since", "", "show what changed since this version")
	return cmd
}

func (f *flags) run(cmd *cobra.Command) error {
	chosen, err := f.choices()
	if err != nil {
		return err
	}
	kept, err := matrix.Read(f.out)
	if err != nil {
		return console.Environment(err, "choose another folder with --out")
	}
	todo := chosen
	if !f.again {
		todo = slices.DeleteFunc(slices.Clone(chosen), func(c libraries.Choice) bool { return f.done(kept, c) })
	}
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if n := len(chosen) - len(todo); n > 0 {
		console.Note(stderr, fmt.Sprintf("%s of the profile %s are kept (--again tests them again)", format.Plural(n, "result"), profiles[f.profile].Name))
	}
	if len(todo) > 0 {
		if f.work, err = console.Folder(f.work, "matrix"); err != nil {
			return err
		}
		if err := f.testAll(cmd.Context(), todo, stderr); err != nil {
			return console.Environment(err, "choose another folder with --out")
		}
	}
	all, err := matrix.Write(f.out)
	if err != nil {
		return console.Environment(err, "choose another folder with --out")
	}
	return f.print(cmd.Context(), stdout, all, chosen)
}

// choices returns the versions and settings to test.
func (f *flags) choices() ([]libraries.Choice, error) {
	err := console.Refuse("see lockbench matrix --help", append(f.fleet.Refusals(f.out),
		console.Refusal{If: !slices.Contains([]string{"latest", "bad", "all"}, f.versions), What: fmt.Sprintf("--versions %s: want latest, bad or all", f.versions)},
		console.Refusal{If: profiles[f.profile].Name == "", What: fmt.Sprintf("--profile %s: want quick, full, known or smoke", f.profile)},
		console.Refusal{If: f.jobs < 1 || f.jobs > 16, What: "--jobs: want 1 to 16"})...)
	if err != nil {
		return nil, err
	}
	var chosen []libraries.Choice
	for _, reference := range f.libraries {
		c, err := choice.Library(reference)
		if err != nil {
			return nil, err
		}
		if c.Named {
			chosen = append(chosen, c)
			continue
		}
		chosen = append(chosen, f.of(c.Library)...)
	}
	if len(f.libraries) == 0 {
		all, err := libraries.All()
		if err != nil {
			return nil, err
		}
		for _, l := range all {
			chosen = append(chosen, f.of(l)...)
		}
	}
	if len(chosen) == 0 {
		return nil, console.Usage(fmt.Errorf("no version is chosen by --versions %s", f.versions), "lockbench libraries lists them")
	}
	return chosen, nil
}

// of returns the choices of a library that --versions selects.
func (f *flags) of(l libraries.Library) []libraries.Choice {
	var chosen []libraries.Choice
	for _, v := range l.Versions {
		latest := v.Version == l.Latest().Version
		if f.versions == "all" || f.versions == "latest" && latest || f.versions == "bad" && v.State != libraries.Current {
			chosen = append(chosen, l.Choices(v)...)
		}
	}
	if profiles[f.profile].Scenes == nil { // only known defects
		chosen = slices.DeleteFunc(chosen, func(c libraries.Choice) bool { _, ok := c.Defect(); return !ok })
	}
	return chosen
}

// done reports whether a result of the same profile exists.
func (f *flags) done(kept []*matrix.Result, c libraries.Choice) bool {
	return slices.ContainsFunc(kept, func(r *matrix.Result) bool { return f.isOf(r, c) && r.NotRun == "" })
}

func (f *flags) isOf(r *matrix.Result, c libraries.Choice) bool {
	return r.Setting == c.Setting.Name && r.Version == c.Version.Version && r.Profile == profiles[f.profile].Name
}

// print prints the chosen results. The returned error has the exit code.
func (f *flags) print(ctx context.Context, w io.Writer, all []*matrix.Result, chosen []libraries.Choice) error {
	shown := slices.DeleteFunc(slices.Clone(all), func(r *matrix.Result) bool {
		return !slices.ContainsFunc(chosen, func(c libraries.Choice) bool { return f.isOf(r, c) })
	})
	err := matrix.Text(w, shown)
	if err == nil && f.since != "" {
		err = matrix.Changes(w, all, f.since)
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "\npage: %s\n", filepath.Join(f.out, "index.html"))
	}
	if err != nil {
		return console.Environment(err, "standard output cannot be written to")
	}
	missed := matrix.Undetected(all)
	found := console.Codes{console.ExitInterrupted: ctx.Err() != nil}
	var missing []error
	for _, r := range shown {
		switch failed := len(r.Failed()) > 0; {
		case r.NotRun != "":
			missing = append(missing, fmt.Errorf("%s@%s was not tested: %s", r.Setting, r.Version, r.NotRun))
		case r.Kind != libraries.Bad:
			found[console.ExitFail] = found[console.ExitFail] || failed
		case profiles[f.profile].Known && slices.Contains(missed, r):
			found[console.ExitXPass] = true
		}
	}
	if err := found.Err(); err != nil || missing == nil {
		return err
	}
	return console.Environment(errors.Join(missing...), "lockbench libraries install NAME --verbose shows why")
}
