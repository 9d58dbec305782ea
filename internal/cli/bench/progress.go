package bench

import (
	"fmt"
	"io"
	"sync"
	"time"

	"lockbench/internal/cli/console"
	"lockbench/internal/measure"
	"lockbench/reports/bench"
	"lockbench/reports/format"
)

// progress shows how far a bench is: a line that changes on a terminal, a line for each block elsewhere.
type progress struct {
	*console.Live

	mu    sync.Mutex
	now   measure.Progress
	since time.Time
	block int
}

func newProgress(w io.Writer) *progress {
	p := &progress{}
	p.Live = console.NewLive(w, p.line)
	return p
}

func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.now
	if n.Granted == nil {
		return ""
	}
	return fmt.Sprintf("block %d of %d  %s at %s  %d grants  %s left", n.Block, n.Blocks, n.Subject, n.Point, n.Granted.Load(), about(n.Left-time.Since(p.since)))
}

func about(d time.Duration) string {
	if d < 0 {
		return "almost nothing"
	}
	return "about " + format.Lasting(d)
}

func (p *progress) begin(n measure.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.since = n, time.Now()
	if n.Block != p.block && !p.Terminal {
		p.Print(fmt.Sprintf("block %d of %d, %s left", n.Block, n.Blocks, about(n.Left)))
	}
	p.block = n.Block
}

func (p *progress) end(n measure.Progress, t *bench.Trial) {
	if v := t.Unsafe(); v != nil && !v.Expected {
		p.Print(fmt.Sprintf("%s at %s violates %s in block %d: %s", n.Subject, n.Point, v.Property, n.Block, v.Text))
	} else if t.Void != "" {
		p.Print(fmt.Sprintf("%s at %s does not count in block %d: %s", n.Subject, n.Point, n.Block, t.Void))
	}
}
