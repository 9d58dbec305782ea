package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"lockbench/internal/simulate/explore"
	"lockbench/reports/run"
)

// exploring tells on stderr how far an exploration is: a counter that runs on a terminal, a line now and then elsewhere.
type exploring struct {
	w    io.Writer
	live bool

	mu    sync.Mutex
	start time.Time
	shown time.Time
}

func newExploring(w io.Writer) *exploring {
	return &exploring{w: w, live: isTerminal(w), start: time.Now(), shown: time.Now()}
}

// How often the counter is shown: on a terminal, and elsewhere.
const (
	showLive  = 100 * time.Millisecond
	showLines = 5 * time.Second
)

func (e *exploring) progress(p explore.Progress) {
	e.mu.Lock()
	defer e.mu.Unlock()
	every := showLines
	if e.live {
		every = showLive
	}
	if time.Since(e.shown) < every {
		return
	}
	e.shown = time.Now()
	line := fmt.Sprintf("%s seeds, %.1f virtual hours, %s with a violation, %.0f s", run.Count(p.Seeds), p.Virtual.Hours(), run.Count(p.Violating), time.Since(e.start).Seconds())
	if p.Minimising != "" {
		line += "; minimising what was found of " + p.Minimising
	}
	if e.live {
		fmt.Fprint(e.w, clearLine+line)
	} else {
		fmt.Fprintln(e.w, line)
	}
}

func (e *exploring) close() {
	if e.live {
		fmt.Fprint(e.w, clearLine)
	}
}

// keep writes the folder: a case and a picture for each story, and all that was found.
func (x *exploration) keep(result *explore.Result) error {
	for _, l := range result.Locks {
		for i := range l.Counterexamples {
			s := &l.Counterexamples[i]
			path := storyFile(x.dir, l, i)
			if err := cmp.Or(keepStory(path, *s), x.emit(filepath.Base(path), *s)); err != nil {
				return err
			}
			s.History = nil // it has been kept, if it was asked for
		}
	}
	var told strings.Builder
	if err := printExplored(&told, result, x.dir); err != nil {
		return err
	}
	text, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		return err
	}
	return cmp.Or(os.WriteFile(filepath.Join(x.dir, "explored.json"), append(text, '\n'), 0o644),
		os.WriteFile(filepath.Join(x.dir, "explored.txt"), []byte(told.String()), 0o644))
}

// storyFile is what the nth story of a lock is kept as, without the ending.
func storyFile(dir string, l *explore.LockResult, n int) string {
	name := l.Counterexamples[n].Case.Lock + "-" + l.Counterexamples[n].Property
	for _, before := range l.Counterexamples[:n] {
		if before.Property == l.Counterexamples[n].Property {
			name = fmt.Sprintf("%s-%s-%d", l.Counterexamples[n].Case.Lock, l.Counterexamples[n].Property, n+1)
		}
	}
	return filepath.Join(dir, name)
}

// caseOf is a story as a case file.
func caseOf(s explore.Counterexample) explore.File {
	return explore.File{Found: fmt.Sprintf("found in simulation, by the strategy %s in seed %d", s.Strategy, s.Seed), Property: s.Property,
		Violated: s.Violated, Seed: s.Seed, Strategy: s.Strategy, Digest: s.Digest, Case: s.Case}
}

// emit writes a story as a test, and as a history, where that is asked for.
func (x *exploration) emit(name string, s explore.Counterexample) error {
	var test, history error
	if x.emitTest != "" {
		path := filepath.Join(x.emitTest, strings.ReplaceAll(name, "-", "_")+"_test.go")
		test = emitTo(x.stderr, path, func(w io.Writer) error { return explore.EmitTest(w, caseOf(s)) })
	}
	if x.emitHistory != "" && s.History != nil {
		path := filepath.Join(x.emitHistory, s.History.Name)
		history = emitTo(x.stderr, path, func(w io.Writer) error { _, err := io.WriteString(w, s.History.Text); return err })
	}
	return cmp.Or(test, history)
}

func keepStory(path string, s explore.Counterexample) error {
	if err := explore.WriteFile(path+".json", caseOf(s)); err != nil {
		return err
	}
	var svg bytes.Buffer
	if err := run.WriteLanes(&svg, s.Property, &s.Witness, s.Faults); err != nil {
		return err
	}
	return os.WriteFile(path+".svg", svg.Bytes(), 0o644)
}

// printExplored prints what was found: the stories first, then the counts.
func printExplored(w io.Writer, result *explore.Result, dir string) error {
	out := bufio.NewWriter(w)
	for _, l := range result.Locks {
		for i, s := range l.Counterexamples {
			printStory(out, s, storyFile(dir, l, i)+".json")
		}
	}
	printRates(out, result)
	printStrategies(out, result)
	printMet(out, result)
	printTotals(out, result)
	return out.Flush()
}

func printStory(w io.Writer, s explore.Counterexample, file string) {
	claim := ""
	if s.Broken {
		claim = "  BROKEN: the lock claims that it does not"
	}
	fmt.Fprintf(w, "%s@%s violates %s%s\n", s.Case.Lock, s.Case.Deployment, s.Property, claim)
	fmt.Fprintf(w, "  seed %d, %s: %s and %s, minimised from %s and %s in %s\n", s.Seed, s.Strategy, plural(s.To.Faults, "fault"),
		plural(s.To.Operations, "operation"), plural(s.From.Faults, "fault"), plural(s.From.Operations, "operation"), plural(s.Trials, "trial"))
	if s.CutOff {
		fmt.Fprintln(w, "  time was up: it may be smaller still")
	}
	for i, sentence := range s.Events {
		fmt.Fprintf(w, "  %2d. %s\n", i+1, sentence)
	}
	fmt.Fprintf(w, "\n%s\n", indent(s.Timeline))
	fmt.Fprintf(w, "  again: lockbench replay %s\n  for real: lockbench replay %s --servers local\n\n", file, file)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

// printRates is a line for each lock and property that was violated, or claimed.
func printRates(w io.Writer, result *explore.Result) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "lock\tproperty\tviolated, of seeds judged\tfirst seed\tunder what the lock claims to survive")
	for _, l := range result.Locks {
		for _, p := range l.Properties {
			if p.Violated == 0 && p.Claimed == 0 {
				continue
			}
			first, claimed := "–", "–"
			if p.Violated > 0 {
				first = fmt.Sprint(p.First)
			}
			if p.Claimed > 0 {
				claimed = run.Rate(p.Broken, p.Claimed)
			}
			if p.Broken > 0 {
				claimed += fmt.Sprintf("  BROKEN, first in seed %d", p.FirstBroken)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", subjectName(l), p.Property, run.Rate(p.Violated, p.Judged), first, claimed)
		}
	}
	t.Flush()
	fmt.Fprintln(w)
}

func subjectName(l *explore.LockResult) string {
	if l.Deployment != "" {
		return l.Lock + "@" + l.Deployment
	}
	return l.Lock
}

// printStrategies says which strategy found what after how many of its seeds.
func printStrategies(w io.Writer, result *explore.Result) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "violations found by")
	strategies := explore.Strategies()
	for _, s := range strategies {
		fmt.Fprintf(t, "\t%s", s.Name)
	}
	fmt.Fprintln(t)
	for _, l := range result.Locks {
		fmt.Fprint(t, subjectName(l))
		for _, s := range strategies {
			i := slices.IndexFunc(l.Strategies, func(r *explore.StrategyResult) bool { return r.Strategy == s.Name })
			switch {
			case i < 0:
				fmt.Fprint(t, "\t–")
			case l.Strategies[i].Violating == 0:
				fmt.Fprintf(t, "\t0 of %d", l.Strategies[i].Seeds)
			default:
				r := l.Strategies[i]
				fmt.Fprintf(t, "\t%d of %d, first after %d", r.Violating, r.Seeds, r.After)
			}
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	fmt.Fprintln(w)
}

// printMet says how often each fault met what: of one lock, or of all together.
func printMet(w io.Writer, result *explore.Result) {
	met := map[string]map[string]int{}
	for _, l := range result.Locks {
		for fault, states := range l.Met {
			if met[fault] == nil {
				met[fault] = map[string]int{}
			}
			for state, n := range states {
				met[fault][state] += n
			}
		}
	}
	if len(met) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "what faults met\t%s\t\n", strings.Join(explore.States(), "\t"))
	for _, fault := range slices.Sorted(maps.Keys(met)) {
		fmt.Fprint(t, fault)
		for _, state := range explore.States() {
			fmt.Fprintf(t, "\t%s", run.Count(met[fault][state]))
		}
		fmt.Fprintln(t, "\t")
	}
	t.Flush()
	fmt.Fprintln(w)
}

// printTotals is what it all weighs, and what could not be told.
func printTotals(w io.Writer, result *explore.Result) {
	seeds, stories, broken := 0, 0, 0
	var virtual, clients time.Duration
	for _, l := range result.Locks {
		seeds, stories, virtual, clients = seeds+l.Seeds, stories+len(l.Counterexamples), virtual+l.Virtual, clients+l.ClientTime
		for _, p := range l.Properties {
			broken += p.Broken
		}
		for _, f := range l.Failed {
			fmt.Fprintf(w, "NO VERDICT: %s, seed %d: %s\n", subjectName(l), f.Seed, f.Failed)
		}
		for _, d := range l.Disagreements {
			fmt.Fprintf(w, "MONITOR AND ORACLE DIFFER: %s: %s\n", subjectName(l), d)
		}
		for _, seed := range l.Nondeterministic {
			fmt.Fprintf(w, "NONDETERMINISTIC: %s, seed %d recorded something else when it was run again; nothing is told of it\n", subjectName(l), seed)
		}
	}
	fmt.Fprintf(w, "%s of %s, %.1f virtual hours, %.1f of clients: %s told, all of them seen in simulation", plural(seeds, "seed"),
		plural(len(result.Locks), "lock"), virtual.Hours(), clients.Hours(), plural(stories, "violation"))
	if broken == 0 {
		fmt.Fprint(w, "; no claim was broken")
	}
	fmt.Fprintln(w, ".")
}
