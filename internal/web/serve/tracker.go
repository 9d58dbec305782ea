package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/reports/run"
)

// most that a history may have before a mark: replay keeps so much in memory.
const mostUnmarked = 2_000_000

var errEnough = errors.New("enough was read")

// replay reads a history and visits its events in order. What is malformed ends it, and is a warning: what stands before it is
// sound, and is shown.
func (s *Server) replay(ctx context.Context, file string, visit func(histories.Event) error) (h histories.Header, warnings []string, err error) {
	select {
	case s.scans <- struct{}{}:
		defer func() { <-s.scans }()
	case <-ctx.Done():
		return h, nil, ctx.Err()
	}
	r, closeAll, err := s.openHistory(file)
	if err != nil {
		return h, nil, err
	}
	defer closeAll()
	unmarked, read := 0, 0
	next := func() (histories.Line, error) {
		if read++; read%4096 == 0 && ctx.Err() != nil {
			return histories.Line{}, ctx.Err()
		}
		line, err := r.Next()
		if unmarked++; line.Mark {
			unmarked = 0
		}
		if unmarked > mostUnmarked {
			return line, fmt.Errorf("more than %d operations without a mark", mostUnmarked)
		}
		return line, err
	}
	_, err = histories.Replay(next, visit)
	warnings = r.Warnings
	if ctx.Err() != nil {
		return r.Header, warnings, ctx.Err()
	}
	if err != nil && !errors.Is(err, errEnough) && err != io.EOF {
		warnings = append(warnings, "the history was read up to a mistake: "+err.Error())
	}
	return r.Header, warnings, nil
}

// tracker follows who holds what, as the application sees it: from a grant to the release, the loss, or the end of its client.
type tracker struct {
	open     map[holdID]*run.Hold
	byKey    map[string][]*run.Hold
	both     map[string]*overlap // by key: the time that goes on in which two hold it
	at       time.Duration
	ended    func(*run.Hold)
	overlaps func(*overlap)
}

type holdID struct {
	client int32
	hold   int64
}

// overlap is a time in which one key was held by two, or more: from when the second was granted it to when one was left.
type overlap struct {
	Key      string
	From, To time.Duration
	Parts    []run.Part // the holds in it, the first ones
	Clients  []int32
}

// mostParts is how many holds of one overlap are kept: without a lock it goes on for as long as the run.
const mostParts = 500

func (o *overlap) add(t *run.Hold, to time.Duration) {
	c := t.Acquire.Client
	if !slices.Contains(o.Clients, c) && len(o.Clients) < mostClients {
		o.Clients = append(o.Clients, c)
		slices.Sort(o.Clients)
	}
	if len(o.Parts) < mostParts {
		o.Parts = append(o.Parts, run.Part{Client: c, From: max(o.From, t.Acquire.Return), To: to})
	}
}

// Who tells whose holds they were.
func (o *overlap) Who() string {
	const most = 6
	names := make([]string, 0, most)
	for _, c := range o.Clients[:min(len(o.Clients), most)] {
		names = append(names, clientWord(c))
	}
	text := "clients " + strings.Join(names, ", ")
	if len(o.Clients) > most {
		return text + fmt.Sprintf(" and %d more", len(o.Clients)-most)
	}
	if len(names) == 1 { // it did not know whether it held, and went on as another
		return "client " + names[0] + " twice"
	}
	return text
}

func newTracker(ended func(*run.Hold), overlaps func(*overlap)) *tracker {
	return &tracker{open: map[holdID]*run.Hold{}, byKey: map[string][]*run.Hold{}, both: map[string]*overlap{}, ended: ended, overlaps: overlaps}
}

func (k *tracker) event(e histories.Event) {
	op := e.Op
	k.at = e.Time()
	switch {
	case e.Return && op.Kind == histories.Acquire && op.Outcome == histories.OK && op.Depth <= 1:
		k.begin(op)
	case !e.Return && op.Kind == histories.Release && op.Depth <= 1, e.Return && op.Kind == histories.Lost:
		if t := k.open[holdID{op.Client, op.Hold}]; t != nil {
			k.end(t)
		}
	case !e.Return && op.Kind == histories.Inject && op.EndsClient():
		for id, t := range k.open {
			if id.client == op.Client {
				k.end(t)
			}
		}
	}
}

func (k *tracker) begin(op *histories.Op) {
	t := &run.Hold{Acquire: *op}
	k.open[holdID{op.Client, op.Hold}] = t
	k.byKey[op.Key] = append(k.byKey[op.Key], t)
	if k.both[op.Key] == nil && shared(k.byKey[op.Key]) {
		k.both[op.Key] = &overlap{Key: op.Key, From: op.Return}
	}
}

// shared reports whether holds are of more than one client, or of more than one life of a client.
func shared(holds []*run.Hold) bool {
	return slices.ContainsFunc(holds, func(t *run.Hold) bool {
		return t.Acquire.Client != holds[0].Acquire.Client || t.Acquire.Life != holds[0].Acquire.Life
	})
}

func (k *tracker) end(t *run.Hold) {
	t.End, t.Ended = k.at, true
	k.close(t)
}

// close removes a hold, and reports the time in which others held its key too when that is over.
func (k *tracker) close(t *run.Hold) {
	key := t.Acquire.Key
	delete(k.open, holdID{t.Acquire.Client, t.Acquire.Hold})
	left := slices.DeleteFunc(k.byKey[key], func(other *run.Hold) bool { return other == t })
	if k.byKey[key] = left; len(left) == 0 {
		delete(k.byKey, key)
	}
	if o := k.both[key]; o != nil {
		o.add(t, k.at)
		if len(left) == 0 || !shared(left) {
			for _, other := range left {
				o.add(other, k.at)
			}
			o.To = k.at
			delete(k.both, key)
			if o.To > o.From {
				k.overlaps(o)
			}
		}
	}
	k.ended(t)
}

// finish closes what was still held when the reading ended.
func (k *tracker) finish() {
	for len(k.open) > 0 {
		for _, t := range k.open {
			k.close(t)
		}
	}
}
