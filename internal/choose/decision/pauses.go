package decision

import (
	"fmt"
	"path/filepath"
	"strings"

	record "lockbench/histories"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

// Paused is what the pauses of one or several trials came to.
type Paused struct {
	Holds   int // into which a pause fell, and which came to an end
	Doubled int // of those: another client was granted the key before the holder was done
}

// PauseFault is what histories call a pause of a process.
const PauseFault = "process-pause"

// PausesIn reads a history for what became of the holds into which pauses fell. A hold is what its application lived through:
// from the grant that it read until it called the release or was told of the loss.
func PausesIn(file string) (Paused, error) {
	r, err := record.Open(file)
	if err != nil {
		return Paused{}, err
	}
	defer r.Close()
	p, err := pausesIn(r.Next)
	if err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

func pausesIn(next func() (record.Line, error)) (Paused, error) {
	l := lived{holds: map[int32]*livedHold{}}
	_, err := record.Replay(next, func(ev record.Event) error {
		l.event(ev)
		return nil
	})
	return l.paused, err
}

// lived follows who holds what: a client holds one key at a time.
type lived struct {
	holds  map[int32]*livedHold
	paused Paused
}

type livedHold struct {
	key             string
	number          int64
	paused, doubled bool
}

func (l *lived) event(ev record.Event) {
	op := ev.Op
	h := l.holds[op.Client]
	switch {
	case op.Kind == record.Acquire && ev.Return && op.Outcome == record.OK:
		l.granted(op)
	case op.Kind == record.Inject && !ev.Return && op.Fault == PauseFault && h != nil:
		h.paused = true
	case op.EndsClient() && !ev.Return:
		delete(l.holds, op.Client) // it is not known what it would have done
	case h == nil || op.Hold != h.number:
	case op.Kind == record.Release && !ev.Return, op.Kind == record.Lost:
		l.ended(op.Client, h)
	}
}

// granted has every other hold of the key doubled that is not over. An owner who enters again holds on.
func (l *lived) granted(op *record.Op) {
	for client, h := range l.holds {
		if h.key == op.Key && client != op.Client {
			h.doubled = true
		}
	}
	if op.Depth <= 1 {
		l.holds[op.Client] = &livedHold{key: op.Key, number: op.Hold}
	}
}

func (l *lived) ended(client int32, h *livedHold) {
	delete(l.holds, client)
	if !h.paused {
		return
	}
	l.paused.Holds++
	if h.doubled {
		l.paused.Doubled++
	}
}

// readStood reads the histories of the cells in which leases of the curve were tried.
func (g *gathering) readStood(dir string, s selection.Source, r run.Results) error {
	for _, c := range r.Measurements {
		if !strings.HasPrefix(c.Scenario, leaseScenario) || !g.among(c.Lock) {
			continue
		}
		still := selection.StoodStill{Source: s.ID, Dir: c.Dir, Lock: g.nameOf(c), TTLNS: c.TTLNS, Histories: histories(c, r.Cells)}
		for _, h := range still.Histories {
			seen, err := PausesIn(filepath.Join(dir, filepath.FromSlash(h.File)))
			if err != nil {
				return err
			}
			still.Holds, still.Doubled = still.Holds+seen.Holds, still.Doubled+seen.Doubled
		}
		g.Stood = append(g.Stood, still)
	}
	return nil
}

// nameOf returns the option that a cell's lock is.
func (g *gathering) nameOf(c run.Measurement) string {
	for _, o := range g.options {
		if o.Lock() == c.Lock && o.Deployment == c.Deployment {
			return o.Name
		}
	}
	return c.Lock
}
