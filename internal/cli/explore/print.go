package explore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockbench/internal/cli/choice"
	"lockbench/internal/simulate/explore"
	"lockbench/reports/campaign"
	"lockbench/reports/format"
	"lockbench/reports/run"
)

// progressLine describes the progress of a search that began at the given time.
func progressLine(n explore.Progress, real bool, start time.Time) string {
	if n == (explore.Progress{}) {
		return ""
	}
	virtual := fmt.Sprintf("%.1f virtual hours, ", n.Virtual.Hours())
	if real {
		virtual = ""
	}
	now := fmt.Sprintf("%s seeds, %s%s with a violation, %.0f s", format.Count(n.Seeds), virtual,
		format.Count(n.Violating), time.Since(start).Seconds())
	if n.Minimising != "" {
		now += "; " + minimising(n)
	}
	return now
}

func minimising(n explore.Progress) string { return "minimising a counterexample of " + n.Minimising }

// state returns the state of the search, for lockbench serve.
func (x *exploration) state(n explore.Progress, start time.Time, agents []campaign.Agent) campaign.State {
	var names []string
	for _, s := range x.campaign.Subjects {
		names = append(names, strings.TrimSuffix(s.Lock+"@"+s.Deployment, "@"))
	}
	now := "search"
	if n.Minimising != "" {
		now = minimising(n)
	}
	return campaign.State{Verb: "explore", Started: start, What: strings.Join(names, ", "), Unit: "seed", Done: n.Seeds, Planned: int(x.campaign.Seeds) * len(names),
		Found: format.Plural(n.Violating, "seed") + " with a violation", UnderWay: []string{now}, Agents: agents}
}

// keep writes the results to a folder: a case file and a picture for each counterexample, the histories of unconfirmed
// violations, explored.json and explored.txt.
func (x *exploration) keep(result *explore.Result, told string) error {
	for _, l := range result.Locks {
		for i := range l.Counterexamples {
			if err := x.keepCounterexample(fileName(x.dir, l, i), &l.Counterexamples[i]); err != nil {
				return err
			}
		}
	}
	for _, l := range result.Locks {
		for i, u := range l.Unconfirmed {
			if u.History == nil {
				continue
			}
			name := fmt.Sprintf("%s-%s-seed-%d.jsonl", l.Lock, u.Property, u.Seed)
			if err := os.WriteFile(filepath.Join(x.dir, name), []byte(u.History.Text), 0o644); err != nil {
				return err
			}
			l.Unconfirmed[i].History = nil
		}
	}
	text, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		return err
	}
	return cmp.Or(os.WriteFile(filepath.Join(x.dir, "explored.json"), append(text, '\n'), 0o644),
		os.WriteFile(filepath.Join(x.dir, "explored.txt"), []byte(told), 0o644))
}

// fileName returns the path, without file extension, of the nth counterexample of a lock.
func fileName(dir string, l *explore.LockResult, n int) string {
	name := l.Counterexamples[n].Case.Lock + "-" + l.Counterexamples[n].Property
	if slices.ContainsFunc(l.Counterexamples[:n], func(before explore.Counterexample) bool { return before.Property == l.Counterexamples[n].Property }) {
		name += fmt.Sprintf("-%d", n+1)
	}
	return filepath.Join(dir, name)
}

// keepCounterexample writes a counterexample as a case file and a picture. If requested, it also writes a Go test and a history.
func (x *exploration) keepCounterexample(path string, s *explore.Counterexample) error {
	where := "in simulation"
	if s.Rate != nil {
		where = "on real servers"
	}
	file := explore.File{Found: fmt.Sprintf("found %s, by the strategy %s in seed %d", where, s.Strategy, s.Seed), Property: s.Property,
		Violated: s.Violated, Seed: s.Seed, Strategy: s.Strategy, Digest: s.Digest, Rate: s.Rate, Case: s.Case}
	if err := explore.WriteFile(path+".json", file); err != nil {
		return err
	}
	var svg bytes.Buffer
	if err := run.WriteLanes(&svg, s.Property, &s.Witness, s.Faults); err != nil {
		return err
	}
	if err := os.WriteFile(path+".svg", svg.Bytes(), 0o644); err != nil {
		return err
	}
	if x.emitTest != "" {
		path := filepath.Join(x.emitTest, strings.ReplaceAll(filepath.Base(path), "-", "_")+"_test.go")
		if err := emitTest(x.stderr, path, file); err != nil {
			return err
		}
	}
	if x.emitHistory != "" && s.History != nil {
		if err := emitHistory(x.stderr, filepath.Join(x.emitHistory, s.History.Name), s.History); err != nil {
			return err
		}
	}
	s.History = nil // free the memory; if the user requested the history, it was written above
	return nil
}

// explored formats the result of lockbench explore for a terminal.
func explored(result *explore.Result, dir string, w choice.Worker) string {
	t := &format.Lines{}
	replay := "lockbench replay "
	switch {
	case w.Library != "":
		replay += "--library " + w.Library + " "
	case w.Command != "":
		replay += "--worker '" + strings.ReplaceAll(w.Command, "'", `'\''`) + "' "
	}
	for _, l := range result.Locks {
		for i, s := range l.Counterexamples {
			addCounterexample(t, s, replay+fileName(dir, l, i)+".json")
		}
	}
	addRates(t, result)
	addStrategies(t, result)
	addMet(t, result)
	addTotals(t, result)
	return t.String()
}

// addCounterexample adds the description of a counterexample and a command that replays it. The command replays it in
// virtual time, unless it was found on real servers.
func addCounterexample(t *format.Lines, s explore.Counterexample, command string) {
	failed := ""
	if s.Fails {
		failed = "  FAIL: it was expected to hold"
	}
	t.Add(fmt.Sprintf("%s@%s violates %s%s", s.Case.Lock, s.Case.Deployment, s.Property, failed))
	size := func(s explore.Size) string {
		return format.Plural(s.Faults, "fault") + " and " + format.Plural(s.Operations, "operation")
	}
	t.Hang("  ", fmt.Sprintf("seed %d, %s: %s, minimised from %s in %s", s.Seed, s.Strategy, size(s.To), size(s.From), format.Plural(s.Trials, "trial")))
	if s.CutOff {
		t.Add("  minimising ran out of time: a smaller one may exist")
	}
	for i, event := range s.Events {
		addEvent(t, fmt.Sprintf("  %2d. ", i+1), event)
	}
	t.Add("")
	for line := range strings.Lines(s.Timeline) {
		t.Add("  " + strings.TrimRight(line, "\n"))
	}
	t.Add("")
	t.Add("  replay: " + command)
	if s.Rate == nil {
		t.Add("  on real servers: " + command + " --servers local")
	} else {
		t.Add(fmt.Sprintf("  it showed in %d of %s", s.Rate.Shows, format.Plural(s.Rate.Trials, "trial")))
	}
	t.Add("")
}

// eventTime matches the start of an event line: the time, and a star if the event is part of the violation.
var eventTime = regexp.MustCompile(`^[0-9.]+ \S+ +(\* )?`)

// addEvent adds an event to the output, after a mark such as the number of the event. It wraps a long event.
func addEvent(t *format.Lines, mark, event string) {
	columns := eventTime.FindString(event)
	t.Hang(mark+columns, event[len(columns):])
}

// addRates adds a row for each lock and property that was violated or expected to hold. The row shows the first seed with the
// result FAIL, or otherwise the first seed with a violation. On real servers, a violation without a counterexample is unconfirmed.
func addRates(t *format.Lines, result *explore.Result) {
	rows := [][]string{{"lock", "property", "violated", "first seed", "if expected to hold"}}
	for _, l := range result.Locks {
		for _, p := range l.Properties {
			if p.Violated == 0 && p.Expected == 0 {
				continue
			}
			first, expected := format.None, format.None
			if p.Violated > 0 {
				first = fmt.Sprint(p.First)
			}
			if p.Expected > 0 {
				expected = fmt.Sprintf("%d of %d", p.Fails, p.Expected)
			}
			switch {
			case p.Fails == 0:
			case l.Shown(p.Property):
				first, expected = fmt.Sprint(p.FirstFail), expected+" FAIL"
			default:
				first, expected = fmt.Sprint(p.FirstFail), expected+" unconfirmed"
			}
			rows = append(rows, []string{subjectName(l), p.Property, run.Rate(p.Violated, p.Judged), first, expected})
		}
	}
	t.PaintedColumns(rows, nil)
	t.Add("")
}

func subjectName(l *explore.LockResult) string {
	return strings.TrimSuffix(l.Lock+"@"+l.Deployment, "@")
}

// addStrategies adds a table with a row for each lock and a column for each search strategy. A cell holds the number of
// seeds with a violation, and the number of seeds until the first violation.
func addStrategies(t *format.Lines, result *explore.Result) {
	strategies := explore.Strategies()
	rows := [][]string{append([]string{"violations (first after)"}, strategies...)}
	for _, l := range result.Locks {
		cells := map[string]string{}
		for _, r := range l.Strategies {
			cells[r.Strategy] = fmt.Sprintf("%d of %d", r.Violating, r.Seeds)
			if r.Violating > 0 {
				cells[r.Strategy] += fmt.Sprintf(" (%d)", r.After)
			}
		}
		row := []string{subjectName(l)}
		for _, name := range strategies {
			row = append(row, cmp.Or(cells[name], format.None))
		}
		rows = append(rows, row)
	}
	t.PaintedColumns(rows, nil)
	t.Add("")
}

// addMet adds a table with a row per fault and a column per client state. Each number counts how often the fault took effect
// while the affected client was in this state, over all locks.
func addMet(t *format.Lines, result *explore.Result) {
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
	rows := [][]string{append([]string{"client state at the fault"}, explore.States()...)}
	for _, fault := range slices.Sorted(maps.Keys(met)) {
		row := []string{fault}
		for _, state := range explore.States() {
			row = append(row, format.Count(met[fault][state]))
		}
		rows = append(rows, row)
	}
	t.PaintedColumns(rows, nil)
	t.Add("")
}

// addTotals adds the problems of an exploration and then the total numbers of seeds, locks and violations. The problems
// are trials without a verdict, unconfirmed violations, results about which two checkers disagree, and results that
// differ when a seed is repeated.
func addTotals(t *format.Lines, result *explore.Result) {
	seeds, found, failed, unjudged := 0, 0, 0, 0
	var virtual, clients time.Duration
	for _, l := range result.Locks {
		seeds, found, virtual, clients = seeds+l.Seeds, found+len(l.Counterexamples), virtual+l.Virtual, clients+l.ClientTime
		for _, p := range l.Properties {
			failed += p.Fails
		}
		unjudged += len(l.Failed)
		for _, f := range l.Failed {
			t.Hang("NO VERDICT: ", fmt.Sprintf("%s, seed %d: %s", subjectName(l), f.Seed, f.Failed))
		}
		addUnconfirmed(t, l)
		for _, d := range l.Disagreements {
			t.Hang("MONITOR AND ORACLE DIFFER: ", subjectName(l)+": "+d)
		}
		for _, seed := range l.Nondeterministic {
			t.Hang("NONDETERMINISTIC: ", fmt.Sprintf("%s, seed %d recorded another history when it was run again, and the violation did not show again", subjectName(l), seed))
		}
	}
	end := "."
	switch {
	case failed > 0 || seeds == 0:
	case unjudged > 0:
		end = fmt.Sprintf("; %s without a verdict.", format.Plural(unjudged, "seed"))
	default:
		end = "; nothing failed that was expected to hold."
	}
	if isReal(result) {
		t.Paragraph(fmt.Sprintf("%s of %s on real servers, %.1f client hours: %s shown%s", format.Plural(seeds, "seed"),
			format.Plural(len(result.Locks), "lock"), clients.Hours(), format.Plural(found, "violation"), end))
		return
	}
	t.Paragraph(fmt.Sprintf("%s of %s, %.1f virtual hours, %.1f client hours: %s shown, all observed in simulation%s", format.Plural(seeds, "seed"),
		format.Plural(len(result.Locks), "lock"), virtual.Hours(), clients.Hours(), format.Plural(found, "violation"), end))
}

func isReal(result *explore.Result) bool {
	return slices.ContainsFunc(result.Locks, func(l *explore.LockResult) bool { return l.Servers != "" })
}

// addUnconfirmed adds a line for each violation that occurred only once on real servers, if the property was expected
// to hold. It also adds a line for all discarded trials.
func addUnconfirmed(t *format.Lines, l *explore.LockResult) {
	for _, u := range l.Unconfirmed {
		if u.Fails {
			again := fmt.Sprintf("and not in %s more", format.Plural(u.Rate.Trials, "trial"))
			if u.Rate == (explore.Rate{}) {
				again = "and there was no time to try again"
			}
			t.Hang("NOT SHOWN AGAIN: ", fmt.Sprintf("%s, seed %d: %s was violated once, %s", subjectName(l), u.Seed, u.Property, again))
		}
	}
	if n := len(l.Void); n > 0 {
		t.Hang("discarded: ", fmt.Sprintf("%d of %s of %s, for example because %s", n, format.Plural(l.Seeds, "trial"), subjectName(l), l.Void[0].Void))
	}
}
