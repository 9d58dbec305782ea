package run

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lockbench/checker"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/trial"
	"lockbench/internal/fleet"
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
	agents     *fleet.Coordinator // queue with the agents; nil: not opened yet
	done       int
	unexpected int
	all, spent time.Duration // total estimated cost of all trials, and of the finished trials
	running    []work
}

func (r *Runner) newProgress(classes []class) *progress {
	p := &progress{verbose: r.verbose, began: time.Now()}
	p.cost = func(w work) time.Duration {
		if r.concurrent(w.cell) {
			return r.setting.Lasts(w.cell) / time.Duration(r.slots())
		}
		return r.setting.Lasts(w.cell)
	}
	for _, c := range classes {
		for _, w := range c.of {
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
	if p.agents != nil {
		if members := choice.Members(p.agents); members != "" {
			text += "; " + members
		}
	}
	return text
}

// nameAgents makes the progress line name the agents of a queue.
func (p *progress) nameAgents(queue *fleet.Coordinator) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agents = queue
}

// finished returns the number of trials that have ended, and that of all.
func (p *progress) finished() (done, planned int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done, p.total
}

func (p *progress) begin(w work) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, w)
}

func (p *progress) end(w work, a answer, err error) {
	p.mu.Lock()
	p.running = slices.DeleteFunc(p.running, func(o work) bool { return o.key() == w.key() })
	p.done++
	p.spent += p.cost(w)
	first := p.done == 1
	text, unexpected := a.Said, a.Unexpected
	if err != nil {
		text, unexpected = "failed", true
	}
	if unexpected {
		p.unexpected++
	}
	p.mu.Unlock()
	switch {
	case text == "":
	case p.verbose || unexpected:
		p.Print(fmt.Sprintf("%-40s %6d grants  %s", w.cell, a.Granted, text))
	case first && !p.Terminal:
		p.Print(fmt.Sprintf("first verdict: %s: %s", w.cell, text))
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
