package decision

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/samber/lo"

	record "lockbench/histories"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

// Paused counts the paused holds: the holds during which a pause began.
type Paused struct {
	Holds      int // number of paused holds that ended in a release or a reported loss
	Overlapped int // number of these holds during which another client was granted the key
}

// PauseFault is the name of the fault that pauses a process.
const PauseFault = "process-pause"

// PausesIn returns the number of holds in a history file during which a pause began. It also returns how many of them
// overlapped with another client's hold. A hold lasts from the grant until the client calls release or learns that the lock is
// lost.
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
		key                string
		number             int64
		paused, overlapped bool
	}
	holds := map[int32]*hold{} // the current hold of each client
	_, err = record.Replay(next, func(ev record.Event) error {
		op, h := ev.Op, holds[ev.Op.Client]
		switch {
		case op.Kind == record.Acquire && ev.Return && op.Outcome == record.OK: // every other current hold of the key now overlaps with this new one
			for client, other := range holds {
				other.overlapped = other.overlapped || other.key == op.Key && client != op.Client
			}
			if op.Depth <= 1 { // a nested acquire or release does not start or end the hold
				holds[op.Client] = &hold{key: op.Key, number: op.Hold}
			}
		case op.Kind == record.Inject && !ev.Return && op.Fault == PauseFault && h != nil:
			h.paused = true
		case op.EndsClient() && !ev.Return:
			delete(holds, op.Client) // the outcome of the hold is unknown
		case h == nil || op.Hold != h.number:
		case op.Kind == record.Release && !ev.Return, op.Kind == record.Lost:
			delete(holds, op.Client)
			if h.paused {
				p.Holds++
				if h.overlapped {
					p.Overlapped++
				}
			}
		}
		return nil
	})
	return p, err
}

func (g *gathering) readPaused(dir string, s selection.Source, r run.Results) error {
	for _, c := range r.Measurements {
		if !strings.HasPrefix(c.Scenario, leaseScenario) || !g.isCandidate(c.Lock) {
			continue
		}
		option, _ := lo.Find(g.options, func(o selection.Option) bool { return o.Lock() == c.Lock && o.Deployment == c.Deployment })
		still := selection.PausedHolds{Source: s.ID, Dir: c.Dir, Lock: cmp.Or(option.Name, c.Lock), TTLNS: c.TTLNS, Histories: histories(c, r.Cells)}
		for _, h := range still.Histories {
			seen, err := PausesIn(filepath.Join(dir, filepath.FromSlash(h.File)))
			if err != nil {
				return err
			}
			still.Holds, still.Overlapped = still.Holds+seen.Holds, still.Overlapped+seen.Overlapped
		}
		g.Paused = append(g.Paused, still)
	}
	return nil
}

// sums is a table of probabilities that several pauses together are longer than a certain time. It has an entry for
// each number of pauses, and for each time on a grid of equal steps.
type sums struct {
	pause  Distribution // length of one pause
	cell   float64      // step between the times for which probabilities are stored
	longer [][]float64  // longer[n-2][i] is the probability that n pauses take more than i*cell in total
}

const (
	sumCells   = 512
	mostPauses = 64 // maximum number of pauses per hold; a larger number counts as the maximum, so each probability is a lower bound
)

// newSums returns a table that stores probabilities for times from 0 to ttl. pause is the distribution of the length of one
// pause, and expected is the mean number of pauses in a hold. The table covers more pauses per hold if expected is larger.
func newSums(pause Distribution, ttl, expected float64) sums {
	s := sums{pause: pause, cell: ttl / sumCells}
	most := min(mostPauses, int(math.Ceil(expected+6*math.Sqrt(expected)))+2)
	first := s.pauseLengths()
	all := first
	for range most - 1 {
		all = convolved(all, first)
		longer, left := make([]float64, len(all)), 1.0
		for i, x := range all {
			left -= x
			longer[i] = max(0, left)
		}
		s.longer = append(s.longer, longer)
	}
	return s
}

// pauseLengths returns the distribution of pause lengths, rounded to multiples of s.cell. Entry i of the result is the
// probability of the length i*s.cell. The probability of a length between two multiples is divided between these two, so that
// the mean stays the same.
func (s sums) pauseLengths() []float64 {
	p := make([]float64, sumCells+1)
	for i := range p {
		// p[i] is the probability of the length i*s.cell. A length between two multiples of s.cell adds to both probabilities.
		// The survival function is the probability that a pause is longer than a given time. p[i] is the mean of this function
		// in the step below i*s.cell, minus its mean in the step above.
		below, at, above := float64(i-1)*s.cell, float64(i)*s.cell, float64(i+1)*s.cell
		p[i] = (s.pause.area(at)-s.pause.area(below))/s.cell - (s.pause.area(above)-s.pause.area(at))/s.cell
	}
	p[0] = 1 - s.pause.area(s.cell)/s.cell
	return p
}

func convolved(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i, x := range a {
		for j, y := range b[:len(b)-i] {
			out[i+j] += x * y
		}
	}
	return out
}

// exceed returns the probability that all pauses of a hold together are longer than x. expected is the mean number of pauses.
func (s sums) exceed(expected, x float64) float64 {
	chance := expected * math.Exp(-expected) // probability of exactly one pause
	sum := chance * s.pause.exceeds(x)
	rest := -math.Expm1(-expected) - chance
	for i, longer := range s.longer {
		chance *= expected / float64(i+2)
		if i == len(s.longer)-1 {
			chance = max(0, rest) // probability of the maximum number of pauses or more
		}
		rest -= chance
		sum += chance * s.at(longer, x)
	}
	return sum
}

func (s sums) at(longer []float64, x float64) float64 {
	// The table rounds the total length of pauses to multiples of s.cell. If x is such a multiple, half of the pauses with the
	// rounded length x count as longer than x.
	i := x/s.cell - 0.5
	switch {
	case i < 0:
		return 1 - (1-longer[0])*(i+0.5)*2
	case i >= sumCells:
		return longer[sumCells]
	}
	whole, part := math.Modf(i)
	a := longer[int(whole)]
	b := longer[min(sumCells, int(whole)+1)]
	return a + (b-a)*part
}
