package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"lockbench/checker"
	"lockbench/internal/drive/trial"
)

// progress tells on stderr how far a run is: a line that moves on a terminal, a line per trial elsewhere.
type progress struct {
	w     io.Writer
	live  bool
	total int
	stop  chan struct{}
	ended sync.WaitGroup

	mu      sync.Mutex
	begun   int
	running []*onShow
}

// onShow is a trial that is shown.
type onShow struct {
	number  int
	name    string
	since   time.Time
	granted atomic.Int64
}

func newProgress(w io.Writer, total int) *progress {
	p := &progress{w: w, live: isTerminal(w), total: total, stop: make(chan struct{})}
	if p.live {
		p.ended.Go(p.move)
	}
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

const clearLine = "\r\x1b[K"

// move shows what runs, until close.
func (p *progress) move() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		p.mu.Lock()
		var parts []string
		for _, s := range p.running {
			parts = append(parts, fmt.Sprintf("%s  %4.1f s  %d grants", p.label(s), time.Since(s.since).Seconds(), s.granted.Load()))
		}
		if n := len(parts); n > 1 { // they would not fit a line
			parts = []string{parts[0], fmt.Sprintf("and %d more", n-1)}
		}
		fmt.Fprint(p.w, clearLine+strings.Join(parts, "  "))
		p.mu.Unlock()
		select {
		case <-tick.C:
		case <-p.stop:
			fmt.Fprint(p.w, clearLine)
			return
		}
	}
}

func (p *progress) close() {
	close(p.stop)
	p.ended.Wait()
}

// begin shows a trial, with a counter that is watched.
func (p *progress) begin(name string) *onShow {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	s := &onShow{number: p.begun, name: name, since: time.Now()}
	p.running = append(p.running, s)
	return s
}

func (p *progress) label(s *onShow) string {
	return fmt.Sprintf("[%*d/%d] %-30s", len(fmt.Sprint(p.total)), s.number, p.total, s.name)
}

// end shows what became of it.
func (p *progress) end(s *onShow, out trial.Outcome, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = slices.DeleteFunc(p.running, func(o *onShow) bool { return o == s })
	line := p.label(s)
	switch {
	case err != nil:
		line += "  failed"
	case out.Verdict != nil:
		line += fmt.Sprintf("  %6d grants  %s", out.Verdict.Counts.Grants, summary(out))
	default:
		return
	}
	if p.live {
		line = clearLine + line
	}
	fmt.Fprintln(p.w, line)
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
