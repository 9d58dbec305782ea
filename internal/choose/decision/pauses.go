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
		err = fmt.Errorf("%s: %w", file, err)
	}
	return p, err
}

func pausesIn(next func() (record.Line, error)) (p Paused, err error) {
	type hold struct {
		key             string
		number          int64
		paused, doubled bool
	}
	holds := map[int32]*hold{} // by client, which holds one key at a time
	_, err = record.Replay(next, func(ev record.Event) error {
		op, h := ev.Op, holds[ev.Op.Client]
		switch {
		case op.Kind == record.Acquire && ev.Return && op.Outcome == record.OK: // every other hold of the key that is not over is doubled
			for client, other := range holds {
				other.doubled = other.doubled || other.key == op.Key && client != op.Client
			}
			if op.Depth <= 1 { // an owner who enters again holds on
				holds[op.Client] = &hold{key: op.Key, number: op.Hold}
			}
		case op.Kind == record.Inject && !ev.Return && op.Fault == PauseFault && h != nil:
			h.paused = true
		case op.EndsClient() && !ev.Return:
			delete(holds, op.Client) // it is not known what it would have done
		case h == nil || op.Hold != h.number:
		case op.Kind == record.Release && !ev.Return, op.Kind == record.Lost:
			delete(holds, op.Client)
			if h.paused {
				p.Holds++
				if h.doubled {
					p.Doubled++
				}
			}
		}
		return nil
	})
	return p, err
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
