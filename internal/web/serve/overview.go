package serve

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/run"
)

// How much an overview keeps.
const (
	buckets      = 96
	mostClients  = 4096
	mostKeys     = 1000
	mostOverlaps = 200
	mostFaults   = 200
)

// overview is a whole history in a few figures: what there is to choose from and to jump to.
type overview struct {
	Header   histories.Header
	Until    time.Duration
	Ops      int
	Clients  []int32
	Keys     []string
	MoreKeys bool
	Width    time.Duration // of a bucket
	Buckets  [buckets]bucket
	Overlaps []*overlap // the first ones
	Shared   int        // how many there are
	Faults   []checker.Band
	Warnings []string
}

type bucket struct {
	Ops, Overlaps int
}

// overviewOf reads a history once, as long as its file is the same.
func (s *Server) overviewOf(ctx context.Context, file string) (*overview, error) {
	_, info, err := s.place(file)
	if err != nil {
		return nil, err
	}
	now := stamp(file, info)
	if o, ok := s.overviews.Get(now); ok {
		return o, nil
	}
	o := &overview{Width: time.Millisecond}
	clients, keys := map[int32]bool{}, map[string]bool{}
	k := newTracker(func(run.Hold) {}, o.overlap)
	o.Header, o.Warnings, err = s.replay(ctx, file, func(e histories.Event) error {
		k.event(e)
		o.event(e, clients, keys)
		return nil
	})
	if err != nil {
		return nil, err
	}
	k.finish()
	o.Clients = slices.Sorted(maps.Keys(clients))
	o.Keys = slices.SortedFunc(maps.Keys(keys), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }) // k2 before k10
	slices.SortFunc(o.Overlaps, func(a, b *overlap) int { return cmp.Compare(a.From, b.From) })
	s.overviews.Add(now, o)
	return o, nil
}

func (o *overview) event(e histories.Event, clients map[int32]bool, keys map[string]bool) {
	op := e.Op
	o.Until = max(o.Until, e.Time())
	if len(clients) < mostClients {
		clients[op.Client] = true
	}
	if op.Key != "" && !keys[op.Key] {
		if o.MoreKeys = len(keys) == mostKeys; !o.MoreKeys {
			keys[op.Key] = true
		}
	}
	o.fault(e)
	if e.Return {
		o.Ops++
		o.bucket(e.Time()).Ops++
	}
}

// fault keeps from when to when a fault was on.
func (o *overview) fault(e histories.Event) {
	switch op := e.Op; {
	case op.Kind == histories.Inject && e.Return && len(o.Faults) < mostFaults:
		o.Faults = append(o.Faults, checker.Band{Name: op.Fault, Client: op.Client, From: op.Call, To: histories.StillOpen,
			Effective: op.Outcome == histories.OK})
	case op.Kind == histories.Heal && e.Return:
		for i := range o.Faults {
			f := &o.Faults[i]
			if f.To == histories.StillOpen && f.Name == op.Fault && f.Client == op.Client {
				f.To = op.Return
				break
			}
		}
	}
}

// bucket is the one of a time. Those there are become wider as the history goes on, since nobody knows how long it is.
func (o *overview) bucket(at time.Duration) *bucket {
	for at/o.Width >= buckets {
		for i := range buckets / 2 {
			o.Buckets[i] = bucket{o.Buckets[2*i].Ops + o.Buckets[2*i+1].Ops, o.Buckets[2*i].Overlaps + o.Buckets[2*i+1].Overlaps}
		}
		clear(o.Buckets[buckets/2:])
		o.Width *= 2
	}
	return &o.Buckets[max(0, at/o.Width)]
}

func (o *overview) overlap(v *overlap) {
	o.Shared++
	for at := v.From; at < v.To; at += o.Width {
		o.bucket(at).Overlaps++
	}
	if len(o.Overlaps) < mostOverlaps {
		v.Parts = nil // a window reads them again
		o.Overlaps = append(o.Overlaps, v)
	}
}

// verdictOf returns the verdict beside a history; one without findings if it cannot be read.
func (s *Server) verdictOf(dir string) *checker.Verdict {
	v := &checker.Verdict{}
	if err := s.read(path.Join(dir, verdictName), v); err != nil {
		return &checker.Verdict{}
	}
	return v
}
