package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"lockbench/internal/measure"
	"lockbench/reports/bench"
)

// benchProgress tells on stderr how far a bench is: a line that moves on a terminal, a line for each block elsewhere.
type benchProgress struct {
	w     io.Writer
	live  bool
	stop  chan struct{}
	ended sync.WaitGroup

	mu    sync.Mutex
	now   measure.Progress
	since time.Time
	block int
}

func newBenchProgress(w io.Writer) *benchProgress {
	p := &benchProgress{w: w, live: isTerminal(w), stop: make(chan struct{})}
	if p.live {
		p.ended.Go(p.move)
	}
	return p
}

func (p *benchProgress) move() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.stop:
			fmt.Fprint(p.w, clearLine)
			return
		}
		p.mu.Lock()
		if n := p.now; n.Granted != nil {
			fmt.Fprintf(p.w, "%sblock %d of %d  %s at %s  %d grants  %s left", clearLine, n.Block, n.Blocks, n.Subject, n.Point,
				n.Granted.Load(), about(n.Left-time.Since(p.since)))
		}
		p.mu.Unlock()
	}
}

// about is a time that nobody needs to the second.
func about(d time.Duration) string {
	switch {
	case d < 0:
		return "almost nothing"
	case d < time.Minute:
		return fmt.Sprintf("about %d s", 1+int(d.Seconds()))
	}
	return fmt.Sprintf("about %d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
}

func (p *benchProgress) begin(n measure.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.since = n, time.Now()
	if n.Block != p.block {
		p.block = n.Block
		if !p.live {
			fmt.Fprintf(p.w, "block %d of %d, %s left\n", n.Block, n.Blocks, about(n.Left))
		}
	}
}

func (p *benchProgress) end(n measure.Progress, t *bench.Trial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := ""
	if t.Void != "" {
		line = fmt.Sprintf("%s at %s does not count in block %d: %s", n.Subject, n.Point, n.Block, t.Void)
	}
	if v := t.Unsafe(); v != nil && !v.Expected {
		line = fmt.Sprintf("%s at %s violates %s in block %d: %s", n.Subject, n.Point, v.Property, n.Block, v.Text)
	}
	if line == "" {
		return
	}
	if p.live {
		line = clearLine + line
	}
	fmt.Fprintln(p.w, strings.TrimRight(line, "\n"))
}

func (p *benchProgress) close() {
	close(p.stop)
	p.ended.Wait()
}
