package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/impls/libraries"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	cliexplore "lockbench/internal/cli/explore"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/world/children"
	"lockbench/reports/matrix"
	"lockbench/reports/run"
)

// test tests one version of a library in one setting.
type test struct {
	job
	keeper *children.Keeper
	choice libraries.Choice
	dir    string // folder for histories and logs
	step   func(name string)
	result *matrix.Result
	files  map[string][]byte // counterexamples, by file name
}

// run runs the steps. The returned error is about files; a library that does not work is a result.
func (t *test) run(ctx context.Context) (*matrix.Result, error) {
	began := time.Now()
	t.result = describe(t.choice)
	t.result.Profile, t.result.Measured, t.result.Environment = profiles[t.Profile].Name, began.UTC().Truncate(time.Second), run.Collect()
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return nil, err
	}
	t.step("install")
	folder, err := choice.InstallLibrary(ctx, io.Discard, t.choice, io.Discard)
	if err == nil {
		t.result.Packages, err = t.choice.Contents(folder)
	}
	if err != nil {
		t.result.NotRun = err.Error()
		return t.result, nil
	}
	bounded, cancel := context.WithTimeout(ctx, profiles[t.Profile].Timeout)
	defer cancel()
	began = time.Now()
	if flags := profiles[t.Profile].Scenes; flags != nil {
		for _, o := range t.verify(bounded, matrix.Scenes, "", flags...) {
			t.repeat(bounded, o)
		}
	}
	err = t.search(bounded)
	if err == nil && profiles[t.Profile].Known {
		err = t.known(ctx)
	}
	t.result.Seconds = time.Since(began).Round(100 * time.Millisecond).Seconds()
	if _, asked := t.result.Tally(); asked == 0 {
		t.result.NotRun = problem(t.result.Steps)
	}
	return t.result, err
}

// problem returns why a step has no result, or "".
func problem(steps []matrix.Step) string {
	for _, s := range steps {
		if s.Problem != "" {
			return s.Name + ": " + s.Problem
		}
	}
	return ""
}

// describe returns a result that has only the description of the library.
func describe(c libraries.Choice) *matrix.Result {
	l, v := c.Library, c.Version
	r := &matrix.Result{Format: matrix.Format, Library: l.Name, Language: l.Language, Package: l.Package, Store: l.Store,
		Version: v.Version, Kind: v.State, Latest: v.Version == l.Latest().Version, Setting: c.Setting.Name, About: c.Setting.About, Default: c.Setting.Name == l.Settings[0].Name}
	switch bad, ok := c.Defect(); {
	case ok:
		fixed, _ := l.FixOf(bad)
		r.Defect = &matrix.Defect{Bad: bad.Version, Fixed: fixed.Version, Summary: bad.Defect, Situation: bad.Situation, Question: bad.Question}
	case v.State == libraries.Bad: // the defect is one of another setting
		r.Kind = libraries.Current
	}
	return r
}

// verify runs lockbench verify and adds its results. The property asked counts even if nothing is expected of it; it may be "". verify
// returns the violations that need to show again.
func (t *test) verify(ctx context.Context, name, asked string, flags ...string) (uncertain []run.Observation) {
	s, dir := t.execute(ctx, name, append([]string{"verify", "--library", t.choice.String(), "--servers", "local"}, flags...))
	var results run.Results
	if err := readJSON(filepath.Join(dir, run.ResultsName), &results); err != nil {
		fail(&s, err)
	} else if s.Violated = t.result.Add(&results, asked); len(results.Gaps) > 0 && s.Exit == console.ExitEnvironment {
		s.Problem = "" // some trials were discarded; the others count
	}
	t.result.Steps = append(t.result.Steps, s)
	for _, o := range results.Cells {
		if slices.Contains(inTime, o.Property) && o.Result == checker.Fail && o.Trials == 1 {
			uncertain = append(uncertain, o)
		}
	}
	return uncertain
}

// inTime lists the properties that a slow machine can violate: a worker that gets no processor for a second answers late. No delay of
// the machine makes two clients hold a lock.
var inTime = []string{"wait-honoured", "responsive", "prompt-hand-off", "progress", "recovery", "loss-notice", "renewal"}

// repeat runs the scene of a violation again, and withdraws the violation if it does not show again.
func (t *test) repeat(ctx context.Context, o run.Observation) {
	s, dir := t.execute(ctx, matrix.Repeat+" "+o.Property+" in "+o.Workload+"+"+o.Fault, []string{"verify", "--library", t.choice.String(), "--servers", "local",
		"--workloads", o.Workload, "--faults", o.Fault, "--trials", strconv.Itoa(repeats)})
	var results run.Results
	if err := readJSON(filepath.Join(dir, run.ResultsName), &results); err != nil {
		fail(&s, err)
	} else if slices.ContainsFunc(results.Cells, func(again run.Observation) bool { return again.Property == o.Property && again.Result == checker.Fail }) {
		s.Violated = []string{o.Property}
	} else {
		t.result.Withdraw(o)
	}
	t.result.Steps = append(t.result.Steps, s)
}

// repeats is the number of trials in which a violation of a property in time has to show again.
const repeats = 4

// search searches for violations on real servers. Two cases for each core run at once: the runtimes of libraries need more of
// a processor than the workers of lockbench.
func (t *test) search(ctx context.Context) error {
	if profiles[t.Profile].Search == 0 {
		return nil
	}
	args := []string{"explore", "--library", t.choice.String(), "--servers", "local", "--for", profiles[t.Profile].Search.String(), "--jobs", strconv.Itoa(2 * runtime.NumCPU())}
	s, dir := t.execute(ctx, matrix.Search, args)
	var found explore.Result
	if err := readJSON(filepath.Join(dir, "explored.json"), &found); err != nil || len(found.Locks) != 1 {
		fail(&s, err)
		t.result.Steps = append(t.result.Steps, s)
		return nil
	}
	l := found.Locks[0]
	for _, one := range cliexplore.Searched(l) {
		if t.result.AddSearched(one); one.Violated > 0 && one.Shown {
			s.Violated = append(s.Violated, one.Property)
		}
	}
	t.result.Steps = append(t.result.Steps, s)
	return t.keep(dir, l)
}

// keep copies the counterexamples of a search to the folder of the results.
func (t *test) keep(dir string, l *explore.LockResult) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		i := slices.IndexFunc(l.Counterexamples, func(c explore.Counterexample) bool {
			return c.Fails && filepath.Base(file) == c.Case.Lock+"-"+c.Property+".json"
		})
		if i < 0 {
			continue
		}
		c := l.Counterexamples[i]
		folder, name := filepath.Split(strings.TrimSuffix(t.result.FileName(), ".json") + "-" + c.Property)
		for _, ending := range []string{".json", ".svg"} {
			text, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ending)
			if err != nil {
				return err
			}
			t.files[name+ending] = text
		}
		t.result.Counterexamples = append(t.result.Counterexamples, matrix.Counterexample{
			Property: c.Property, File: name + ".json", Picture: name + ".svg", Shown: c.Rate.Shows, Trials: c.Rate.Trials,
			Command: fmt.Sprintf("lockbench replay --library %s --servers local %s", t.choice, filepath.ToSlash(filepath.Join(t.Out, folder, name+".json"))),
		})
	}
	return nil
}

// known runs the scene or the case that was chosen for the defect of a bad version, also on the version that fixed it.
func (t *test) known(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, knownTimeout)
	defer cancel()
	switch bad, ok := t.choice.Defect(); {
	case !ok:
	case bad.ShownBy != "":
		t.verify(ctx, matrix.Known, bad.Question, strings.Fields(bad.ShownBy)...)
	case bad.Case != "":
		return t.replay(ctx, t.choice.Library, bad)
	}
	return nil
}

// replay runs the case of a bad version.
func (t *test) replay(ctx context.Context, l libraries.Library, bad libraries.Version) error {
	text, err := l.Case(bad)
	if err != nil {
		return err
	}
	file := filepath.Join(t.dir, bad.Case)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	s, _ := t.execute(ctx, matrix.Known, []string{"replay", "--library", t.choice.String(), "--servers", "local", file})
	s.Command = strings.ReplaceAll(s.Command, file, "impls/libraries/"+l.CasePath(bad))
	switch s.Exit {
	case 0: // the violation was shown again
		s.Violated = []string{bad.Question}
		t.result.AddSearched(matrix.Searched{Property: bad.Question, Checked: 1, Violated: 1, Shown: true})
	case console.ExitInconclusive: // it was not shown in any trial
		t.result.AddSearched(matrix.Searched{Property: bad.Question, Checked: 1})
	}
	t.result.Steps = append(t.result.Steps, s)
	return nil
}

// fail records that a step has no result, unless the step itself has said why.
func fail(s *matrix.Step, err error) {
	switch {
	case s.Problem != "":
	case err == nil, errors.Is(err, fs.ErrNotExist):
		s.Problem = "no result"
	default:
		s.Problem = err.Error()
	}
}

// execute runs lockbench with a new folder for its results, and returns the folder.
func (t *test) execute(ctx context.Context, name string, args []string) (s matrix.Step, dir string) {
	t.step(name)
	s = matrix.Step{Name: name, Command: "lockbench " + strings.Join(args, " ")}
	dir = filepath.Join(t.dir, name)
	began := time.Now()
	var err error
	s.Exit, err = t.lockbench(ctx, dir+".txt", append(args, "--out", dir))
	s.Seconds = time.Since(began).Round(100 * time.Millisecond).Seconds()
	switch {
	case s.Exit == console.ExitInterrupted, err != nil && ctx.Err() != nil:
		s.Problem = "interrupted at the time limit of the profile"
	case err != nil:
		s.Problem = err.Error()
	case s.Exit == console.ExitEnvironment, s.Exit == console.ExitInternal, s.Exit < 0:
		s.Problem = lastLine(dir + ".txt")
	}
	return s, dir
}

const stopTimeout = 30 * time.Second // time limit for lockbench to write what it has found after an interrupt

// lockbench runs this program with other arguments, writes its output to a file, and returns its exit code. If ctx ends, it
// interrupts the program, which then writes what it has found and ends its servers.
func (t *test) lockbench(ctx context.Context, output string, args []string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return -1, err
	}
	log, err := os.Create(output)
	if err != nil {
		return -1, err
	}
	defer log.Close()
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = log, log
	child, err := t.keeper.Start(cmd)
	if err != nil {
		return -1, err
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		_ = cmd.Process.Signal(os.Interrupt) // the error is that the program has ended
		select {
		case <-child.Done():
		case <-time.After(stopTimeout):
			return -1, child.Kill()
		}
	}
	return cmd.ProcessState.ExitCode(), nil
}

// lastLine returns the last line of a log that does not give a hint.
func lastLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range slices.Backward(lines) {
		if said, ok := strings.CutPrefix(line, "lockbench: "); ok {
			return said
		}
	}
	return lines[len(lines)-1]
}

func readJSON(file string, v any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
