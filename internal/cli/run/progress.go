package run

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/checker"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/trial"
)

// progress shows how far a run is: a line that changes on a terminal, a line per trial elsewhere.
type progress struct {
	*console.Live
	total int

	mu      sync.Mutex
	begun   int
	running []*shownTrial
}

type shownTrial struct {
	number  int
	name    string
	since   time.Time
	granted atomic.Int64
}

func newProgress(w io.Writer, total int) *progress {
	p := &progress{total: total}
	p.Live = console.NewLive(w, p.line)
	return p
}

// line shows the trial that runs for longest; more would not fit a line.
func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.running) == 0 {
		return ""
	}
	s := p.running[0]
	line := fmt.Sprintf("%s  %4.1f s  %d grants", p.label(s), time.Since(s.since).Seconds(), s.granted.Load())
	if n := len(p.running); n > 1 {
		line += fmt.Sprintf("  and %d more", n-1)
	}
	return line
}

// begin shows a trial, with a counter that is watched.
func (p *progress) begin(name string) *shownTrial {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	s := &shownTrial{number: p.begun, name: name, since: time.Now()}
	p.running = append(p.running, s)
	return s
}

func (p *progress) label(s *shownTrial) string {
	return fmt.Sprintf("[%*d/%d] %-30s", len(fmt.Sprint(p.total)), s.number, p.total, s.name)
}

func (p *progress) end(s *shownTrial, out trial.Outcome, err error) {
	p.mu.Lock()
	p.running = slices.DeleteFunc(p.running, func(o *shownTrial) bool { return o == s })
	p.mu.Unlock()
	switch {
	case err != nil:
		p.Print(p.label(s) + "  failed")
	case out.Verdict != nil:
		p.Print(fmt.Sprintf("%s  %6d grants  %s", p.label(s), out.Verdict.Counts.Grants, summary(out)))
	}
}

// summary is the scores of a trial in a few words: the bad ones by name.
func summary(out trial.Outcome) string {
	kept, caught := 0, 0
	var bad []string
	for _, f := range out.Verdict.Findings {
		switch s := checker.ScoreOf(out.Header.Claim(f.Property).Expected, f.Observed); s {
		case checker.Kept:
			kept++
		case checker.Caught:
			caught++
		case checker.Broken, checker.Missed, checker.LeftUndecided:
			bad = append(bad, fmt.Sprintf("%s %s", f.Property, s))
		}
	}
	var parts []string
	if kept > 0 {
		parts = append(parts, fmt.Sprintf("%d kept", kept))
	}
	if caught > 0 {
		parts = append(parts, fmt.Sprintf("%d caught", caught))
	}
	return strings.Join(append(parts, bad...), ", ")
}
