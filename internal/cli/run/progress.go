package run

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/checker"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/trial"
	"lockbench/reports/format"
	"lockbench/reports/run"
)

// progress shows the progress of a run: the number of judged trials, the running trial, and the estimated time left.
// Unexpected results are printed at once.
type progress struct {
	*console.Live
	verbose bool // whether to print a line for each trial
	total   int
	cost    func(work) time.Duration // estimated cost of a trial, relative to other trials

	mu         sync.Mutex
	began      time.Time
	done       int
	unexpected int
	all, spent time.Duration // total estimated cost of all trials, and of the finished trials
	running    []*shownTrial
}

// shownTrial is a running trial with the number of its grants so far, for the progress output.
type shownTrial struct {
	work
	granted atomic.Int64
}

func (r *Runner) newProgress(measured part, beside []part) *progress {
	p := &progress{verbose: r.verbose, began: time.Now()}
	others := 0
	for _, part := range beside {
		others += part.atOnce
	}
	p.cost = func(w work) time.Duration {
		if r.jobs == 0 && r.concurrent(w.cell) {
			return r.setting.Lasts(w.cell) / time.Duration(others)
		}
		return r.setting.Lasts(w.cell)
	}
	for _, part := range append(beside, measured) {
		for _, w := range part.of {
			p.total++
			p.all += p.cost(w)
		}
	}
	p.Live = console.NewLive(r.stderr, p.line)
	return p
}

// line returns the progress line, which names the trial that has been running for longest.
func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%*d of %d trials", len(fmt.Sprint(p.total)), p.done, p.total)
	if p.unexpected > 0 {
		text += fmt.Sprintf(", %d not as expected", p.unexpected)
	}
	if p.done > 0 {
		left := time.Since(p.began).Seconds() * float64(p.all-p.spent) / float64(p.spent)
		text += ", about " + format.Lasting(time.Duration(left*float64(time.Second))) + " left"
	}
	if len(p.running) > 0 {
		text += ": " + p.running[0].cell.String()
	}
	if n := len(p.running); n > 1 {
		text += fmt.Sprintf(" and %d more", n-1)
	}
	return text
}

func (p *progress) begin(w work) *shownTrial {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &shownTrial{work: w}
	p.running = append(p.running, s)
	return s
}

func (p *progress) end(s *shownTrial, out trial.Outcome, err error) {
	p.mu.Lock()
	p.running = slices.DeleteFunc(p.running, func(o *shownTrial) bool { return o == s })
	p.done++
	p.spent += p.cost(s.work)
	first := p.done == 1
	var text string
	unexpected := err != nil
	if err != nil {
		text = "failed"
	} else if out.Verdict != nil {
		text, unexpected = summary(out)
	}
	if unexpected {
		p.unexpected++
	}
	p.mu.Unlock()
	switch {
	case text == "":
	case p.verbose || unexpected:
		p.Print(fmt.Sprintf("%-40s %6d grants  %s", s.cell, s.granted.Load(), text))
	case first && !p.Terminal:
		p.Print(fmt.Sprintf("first verdict: %s: %s", s.cell, text))
	}
}

// summary returns a line with the results of a trial. The line names each property with an unexpected result; unexpected reports
// whether there are any.
func summary(out trial.Outcome) (text string, unexpected bool) {
	var n run.Tally
	var parts, bad []string
	for _, f := range out.Verdict.Findings {
		s := checker.ResultOf(out.Header.Expectation(f.Property).Expected, f.Observed)
		*n.Of(s)++
		if s == checker.Fail || s == checker.XPass || s == checker.Inconclusive {
			bad = append(bad, fmt.Sprintf("%s %s", f.Property, s))
		}
	}
	for _, s := range []checker.Result{checker.Pass, checker.XFail} {
		if *n.Of(s) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", *n.Of(s), s))
		}
	}
	return strings.Join(append(parts, bad...), ", "), len(bad) > 0
}
