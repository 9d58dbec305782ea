package explore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/suggest"
	"lockbench/internal/world/servers"
	"lockbench/reports/format"
)

type replayFlags struct {
	servers               choice.Servers
	worker                choice.Worker
	own                   string            // name of the worker's lock; "": no worker
	params                map[string]string // parameters of the worker's lock
	out                   string
	attempts, jobs        int
	scale                 float64
	asJSON                bool
	emitTest, emitHistory string
}

// ReplayCommand returns the command lockbench replay, which runs a counterexample again.
func ReplayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a counterexample again, in simulation or on real servers",
		Long: `replay runs a counterexample of lockbench explore, or a hand-written case (docs/case.schema.json),
in virtual time, lists the events, and reports whether the property is violated.

With --servers local it then runs the case several times with real processes and servers. Only a
violation there is a fact about the lock. A case that was found on real servers runs there only.

  lockbench replay runs/20260102-150405-explore/redlock-mutual-exclusion.json --servers local

Exit codes: 0 violated, also on real servers if requested; 1 not violated in simulation; 2 wrong
usage, or an invalid file; 3 not violated on real servers; 4 no real servers, or they failed; 130
interrupted.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Usage(fmt.Errorf("replay needs one case, got %s", format.Plural(len(args), "argument")), "lockbench replay case.json")
			}
			return f.replay(cmd, args[0])
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.worker.Define(fl)
	fl.StringToStringVar(&f.params, "param", nil, "parameters of the locks (on real servers)")
	f.servers.Define(fl)
	fl.Lookup("servers").DefValue, f.servers.How = "", ""
	fl.IntVar(&f.attempts, "attempts", 5, "number of trials on real servers")
	fl.IntVar(&f.jobs, "jobs", 0, "concurrent trials (on real servers; ten for each core)")
	fl.Float64Var(&f.scale, "scale", 1, "factor for every duration on real servers")
	fl.StringVar(&f.out, "out", "", "folder for the results (runs/<time>-replay)")
	fl.StringVar(&f.emitTest, "emit-test", "", "write counterexamples as Go tests (to this file)")
	fl.StringVar(&f.emitHistory, "emit-history", "", "write the recorded histories (to this file or folder)")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON")
	return cmd
}

func (f *replayFlags) check(cmd *cobra.Command) error {
	if err := console.Refuse("see lockbench replay --help", append(f.worker.Refusals(nil),
		console.Refusal{If: f.attempts < 1 || f.attempts > 1000, What: "--attempts: want 1 to 1000"},
		console.Refusal{If: f.jobs < 0 || f.jobs > 64, What: "--jobs: want 1 to 64, or 0 for ten per core"},
		console.Refusal{If: f.scale < 0.1 || f.scale > 100, What: "--scale: want 0.1 to 100"})...); err != nil {
		return err
	}
	if !f.worker.Given() && f.servers.How == "" && !f.servers.Named() {
		return nil
	}
	if err := f.worker.Install(cmd.Context(), cmd.ErrOrStderr()); err != nil {
		return err
	}
	f.servers.How = cmp.Or(f.servers.How, servers.Auto)
	if err := f.servers.Settle(cmd); err != nil || f.worker.Command == "" {
		return err
	}
	own, notes, err := register(cmd.Context(), f.worker, f.servers, f.params, &f.jobs)
	f.own = own.Name
	for _, note := range notes {
		console.Note(cmd.ErrOrStderr(), note)
	}
	return err
}

// place determines whether the case runs on real servers. If no flag names servers, it uses the servers that the case
// file names.
func (f *replayFlags) place(cmd *cobra.Command, c *explore.Case) error {
	if f.own != "" && c.Lock != f.own {
		return console.Usage(fmt.Errorf("the case is for the lock %s, and the lock of the worker is %s", c.Lock, f.own), "leave out --worker, or change the field lock of the case")
	}
	if f.servers.How == "" {
		f.servers.How = c.Servers
	}
	if f.servers.How == "" {
		for _, name := range []string{"attempts", "scale", "out", "jobs"} {
			if cmd.Flags().Changed(name) {
				return console.Usage(fmt.Errorf("--%s is for real servers", name), "add --servers local")
			}
		}
		return nil
	}
	real := c.Scaled(f.scale)
	real.Servers = f.servers.How
	return checkReal(real, f.servers.Remote)
}

type replayed struct {
	File       string     `json:"file"`
	Lock       string     `json:"lock"`
	Deployment string     `json:"deployment"`
	Workload   string     `json:"workload"`
	Property   string     `json:"property"`
	Simulation *simulated `json:"simulation,omitempty"`
	Servers    *onServers `json:"servers,omitempty"`
}

// simulated is the result of running a counterexample in virtual time.
type simulated struct {
	Shows    bool     `json:"shows"`
	Violated []string `json:"violated"`
	Digest   string   `json:"digest"`
	AsFound  bool     `json:"digest_as_found"`
	Events   []string `json:"events,omitempty"`
	Missing  string   `json:"incomplete,omitempty"` // steps of the fault plan that had no effect

	disagree bool // whether checker and oracle disagree about the verdict
}

func (f replayFlags) replay(cmd *cobra.Command, path string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	file, err := explore.ReadFile(path)
	if err != nil {
		return badCase(err)
	}
	if err := f.place(cmd, &file.Case); err != nil {
		return err
	}
	said := replayed{File: path, Lock: file.Lock, Deployment: file.Deployment, Workload: file.Workload, Property: file.Property}
	if !f.asJSON {
		if err := said.introduce(cmd.OutOrStdout(), file); err != nil {
			return err
		}
	}
	if file.Servers == "" {
		err = f.simulate(cmd, &said, file)
	}
	var failed error
	if err == nil && f.servers.How != "" && cmd.Context().Err() == nil {
		failed = f.real(cmd, &said, file)
	}
	if err == nil && f.asJSON {
		err = console.JSON(cmd.OutOrStdout(), said)
	}
	if err != nil {
		return err
	}
	found := said.codes()
	found[console.ExitInterrupted] = cmd.Context().Err() != nil
	if failed != nil && !found[console.ExitInterrupted] && !found[console.ExitInternal] {
		return failed
	}
	return found.Err()
}

// simulate runs the case in virtual time.
func (f replayFlags) simulate(cmd *cobra.Command, said *replayed, file explore.File) error {
	stdout := cmd.OutOrStdout()
	explorer, err := explorer()
	if err != nil {
		return err
	}
	shown, err := explore.Replay(cmd.Context(), explorer, file, width(stdout))
	switch {
	case err != nil && cmd.Context().Err() != nil:
		return &console.Exit{Code: console.ExitInterrupted}
	case err != nil:
		return console.Environment(fmt.Errorf("replay %s in virtual time: %w", said.File, err), "it may come from another build of lockbench")
	}
	result := simulate(shown, file)
	said.Simulation = &result
	if !f.asJSON {
		if err := result.print(stdout, shown.Timeline, file); err != nil {
			return err
		}
	}
	return f.emit(cmd.ErrOrStderr(), shown.History, file, result.Shows)
}

// real runs the case on real servers.
func (f replayFlags) real(cmd *cobra.Command, said *replayed, file explore.File) (err error) {
	c := file.Case.Scaled(f.scale)
	c.Servers = f.servers.How
	stdout := cmd.OutOrStdout()
	said.Servers, err = f.onServers(cmd.Context(), cmd.ErrOrStderr(), c, file.Property, width(stdout))
	if f.asJSON {
		return err
	}
	if file.Servers != "" && said.Servers.Shows {
		var t format.Lines
		addEvents(&t, said.Servers.Events, said.Servers.timeline)
		if _, err := t.WriteTo(stdout); err != nil {
			return err
		}
	}
	said.Servers.print(console.Cleaned(stdout), file.Property)
	return err
}

func (r replayed) codes() console.Codes {
	c := console.Codes{}
	if s := r.Simulation; s != nil {
		c[console.ExitFail], c[console.ExitInternal] = !s.Shows, s.disagree
	}
	if s := r.Servers; s != nil {
		c[console.ExitInconclusive] = !s.Shows
		c[console.ExitInternal] = c[console.ExitInternal] || s.disagree
	}
	return c
}

func simulate(shown explore.Shown, file explore.File) simulated {
	return simulated{Shows: slices.Contains(shown.Violated, file.Property), Violated: shown.Violated, Digest: shown.Digest,
		AsFound: shown.Digest == file.Digest, Events: shown.Events, Missing: shown.Incomplete, disagree: len(shown.Disagreements) > 0}
}

func badCase(err error) error {
	hint := "docs/case.schema.json is the schema of a case; a case of your own lock needs --worker"
	if errors.Is(err, fs.ErrNotExist) {
		hint = "lockbench explore writes a case for each counterexample"
	}
	var u *explore.Unknown
	if errors.As(err, &u) {
		if near, ok := suggest.Nearest(u.Name, u.Known); ok {
			hint = fmt.Sprintf("did you mean %s? %s", near, hint)
		}
	}
	return console.Usage(err, hint)
}

// emit writes the files that the flags request, unless the property was not violated again.
func (f replayFlags) emit(stderr io.Writer, history *explore.Recorded, file explore.File, shows bool) error {
	if f.emitTest == "" && f.emitHistory == "" {
		return nil
	}
	if !shows {
		fmt.Fprintln(stderr, "nothing is written: the property was not violated again")
		return nil
	}
	path := f.emitHistory
	if info, err := os.Stat(path); err == nil && info.IsDir() || strings.HasSuffix(path, string(filepath.Separator)) {
		path = filepath.Join(path, history.Name)
	}
	return cmp.Or(emitTest(stderr, f.emitTest, file), emitHistory(stderr, path, history))
}

// emitTest writes a counterexample as a Go test. If path is empty, it writes nothing.
func emitTest(stderr io.Writer, path string, file explore.File) error {
	return emitTo(stderr, path, func(w io.Writer) error { return explore.EmitTest(w, file) })
}

// emitHistory writes the history of a counterexample. If path is empty, it writes nothing.
func emitHistory(stderr io.Writer, path string, history *explore.Recorded) error {
	return emitTo(stderr, path, func(w io.Writer) error { _, err := io.WriteString(w, history.Text); return err })
}

func emitTo(stderr io.Writer, path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		var file *os.File
		if file, err = os.Create(path); err == nil {
			err = errors.Join(write(file), file.Close())
		}
	}
	if err != nil {
		return console.Environment(err, "choose a place that can be written to")
	}
	fmt.Fprintf(stderr, "written: %s\n", path)
	return nil
}

// introduce prints the lock, workload and property of a case, and the text that describes how the case was found.
func (r replayed) introduce(w io.Writer, file explore.File) error {
	var t format.Lines
	t.Paragraph(fmt.Sprintf("%s: %s on %s, workload %s, property %s", r.File, r.Lock, r.Deployment, r.Workload, r.Property))
	t.Paragraph(file.Found)
	t.Add("")
	_, err := t.WriteTo(w)
	return err
}

func (s simulated) print(w io.Writer, timeline string, file explore.File) error {
	var t format.Lines
	t.Add("in simulation:")
	addEvents(&t, s.Events, timeline)
	t.Paragraph("in simulation: " + s.outcome(file.Property, file.Digest))
	if s.Missing != "" {
		t.Hang("  ", "not all of the plan took place: "+s.Missing)
	}
	_, err := t.WriteTo(w)
	return err
}

// addEvents adds the events of a trial and its timeline.
func addEvents(t *format.Lines, events []string, timeline string) {
	for _, event := range events {
		addEvent(t, "  ", event)
	}
	t.Add("")
	for line := range strings.Lines(timeline) {
		t.Add(strings.TrimRight(line, "\n"))
	}
	t.Add("")
}

func (s simulated) outcome(property, digest string) string {
	switch {
	case !s.Shows:
		return fmt.Sprintf("not reproduced: %s is not violated (violated: %s)", property, cmp.Or(strings.Join(s.Violated, ", "), "nothing"))
	case digest == "":
		return fmt.Sprintf("reproduced: %s violated, digest %s", property, s.Digest)
	case s.AsFound:
		return fmt.Sprintf("reproduced: %s violated, digest as found", property)
	}
	return fmt.Sprintf("reproduced: %s violated, but the digest is %s instead of %s: another build found it, or the case is nondeterministic", property, s.Digest, digest)
}

func width(w io.Writer) int {
	const usual = 100
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return usual
}
