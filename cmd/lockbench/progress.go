package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"lockbench/checker"
	"lockbench/internal/trial"
)

// progress tells on stderr how far a run is: a line that moves on a terminal, a line per cell elsewhere.
type progress struct {
	w       io.Writer
	live    bool
	cells   int
	cell    int
	name    string
	stop    chan struct{}
	stopped chan struct{}
}

func newProgress(w io.Writer, cells int) *progress {
	return &progress{w: w, live: isTerminal(w), cells: cells}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// begin shows a cell and returns the counter that it watches.
func (p *progress) begin(name string) *atomic.Int64 {
	p.cell++
	p.name = name
	granted := new(atomic.Int64)
	if !p.live {
		return granted
	}
	p.stop, p.stopped = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(p.stopped)
		start := time.Now()
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			fmt.Fprintf(p.w, "\r\x1b[K%s  %4.1f s  %d grants", p.label(), time.Since(start).Seconds(), granted.Load())
			select {
			case <-tick.C:
			case <-p.stop:
				fmt.Fprint(p.w, "\r\x1b[K")
				return
			}
		}
	}()
	return granted
}

func (p *progress) label() string { return fmt.Sprintf("[%2d/%d] %-30s", p.cell, p.cells, p.name) }

// end shows what became of the cell.
func (p *progress) end(out trial.Outcome, err error) {
	if p.live {
		close(p.stop)
		<-p.stopped
	}
	switch {
	case err != nil:
		fmt.Fprintf(p.w, "%s  failed\n", p.label())
	case out.Verdict != nil:
		fmt.Fprintf(p.w, "%s  %6d grants  %s\n", p.label(), out.Verdict.Counts.Grants, summary(out))
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
