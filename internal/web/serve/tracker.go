package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockbench/checker/projection"
	"lockbench/histories"
	"lockbench/reports/run"
)

var errEnough = errors.New("enough was read") // a function passed to the method replay returns errEnough to stop reading

// replay reads a history and calls visit for each event in order. At a malformed line, it stops and returns a warning,
// but no error, because the earlier events are valid.
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
	unmarked := 0
	next := func() (histories.Line, error) {
		line, err := r.Next()
		if unmarked++; line.Mark {
			unmarked = 0
		}
		if unmarked > mostUnmarked {
			return line, fmt.Errorf("more than %d operations without a mark", mostUnmarked)
		}
		return line, cmp.Or(err, ctx.Err())
	}
	_, err = histories.Replay(next, visit)
	warnings = r.Warnings
	if err != nil && !errors.Is(err, errEnough) && err != io.EOF && ctx.Err() == nil {
		warnings = append(warnings, "the history is shown up to an error: "+err.Error())
	}
	return r.Header, warnings, ctx.Err()
}

// tracker derives the holds and overlaps of a history while the history is read, and passes them to a reader. A hold
// begins when the lock is granted. It ends when the client calls release, learns that the hold was lost, or is ended by
// a fault.
type tracker struct {
	*projection.Projection
	at       time.Duration
	overlaps map[*projection.Key]*overlap // for each key, the current period with two or more holds
	into     reader
}

// reader receives the events, holds and overlaps of a history.
type reader interface {
	event(histories.Event, *tracker) error
	addHold(run.Hold) // called for each hold, when the hold ends or at the end of the history
	addOverlap(*overlap)
}

func (s *Server) follow(ctx context.Context, file string, into reader) (histories.Header, []string, error) {
	k := &tracker{overlaps: map[*projection.Key]*overlap{}, into: into}
	k.Projection = projection.New(0, k.change)
	h, warnings, err := s.replay(ctx, file, func(e histories.Event) error {
		k.event(e)
		return into.event(e, k)
	})
	for _, key := range k.Keys { // close the overlaps that last until the end of the history
		if o := k.overlaps[key]; o != nil {
			k.endOverlap(key, o)
		}
	}
	k.Finish()
	return h, warnings, err
}

// overlap is a period in which at least two holds of the same key exist. It begins with the grant of the second
// hold. It ends when at most one hold remains.
type overlap struct {
	run.Overlap
	Key     string
	Clients []int32
}

func (o *overlap) add(t *projection.Hold, to time.Duration) {
	c := t.Acquire.Client
	if !slices.Contains(o.Clients, c) && len(o.Clients) < mostClients {
		o.Clients = append(o.Clients, c)
		slices.Sort(o.Clients)
	}
	if len(o.Parts) < mostParts {
		o.Parts = append(o.Parts, run.Part{Client: c, From: max(o.From, t.Granted), To: to})
	}
}

// Who lists the names of the clients in an overlap as text.
func (o *overlap) Who() string {
	if len(o.Clients) == 1 { // both holds belong to the same client
		return "client " + clientWord(o.Clients[0]) + " twice"
	}
	const most = 6
	var names []string
	for _, c := range o.Clients[:min(len(o.Clients), most)] {
		names = append(names, clientWord(c))
	}
	text := "clients " + strings.Join(names, ", ")
	if more := len(o.Clients) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (k *tracker) event(e histories.Event) {
	k.at = e.Time()
	switch op := e.Op; {
	case op.Kind == histories.Inject && op.EndsClient() && !e.Return:
		k.Gone(op)
	case op.Kind != histories.Inject && op.Key != "":
		k.Event(k.Key(op.Key), e)
	}
}

func (k *tracker) change(key *projection.Key, h *projection.Hold, c projection.Change) {
	switch {
	case h.End < h.Granted: // the client ended before its grant arrived, so there was no hold
	case c == projection.Began && len(key.Live) > 1 && k.overlaps[key] == nil:
		k.overlaps[key] = &overlap{Key: key.Name, Overlap: run.Overlap{From: h.Granted}}
	case c == projection.Ended:
		if o := k.overlaps[key]; o != nil {
			o.add(h, h.End)
			if len(key.Live) < 2 {
				k.endOverlap(key, o)
			}
		}
		k.into.addHold(run.Hold{Acquire: h.Acquire, End: h.End, Ended: true})
	case c == projection.Closed && h.End == histories.Forever:
		k.into.addHold(run.Hold{Acquire: h.Acquire})
	}
}

// endOverlap ends an overlap of holds of a key. It passes the overlap to the reader, unless its duration is 0.
func (k *tracker) endOverlap(key *projection.Key, o *overlap) {
	for _, h := range key.Live {
		o.add(h, k.at)
	}
	delete(k.overlaps, key)
	if o.To = k.at; o.To > o.From {
		k.into.addOverlap(o)
	}
}

// heldSince reports whether any current hold was granted at the given time or earlier.
func (k *tracker) heldSince(by time.Duration) bool {
	return slices.ContainsFunc(k.Keys, func(key *projection.Key) bool {
		return slices.ContainsFunc(key.Live, func(h *projection.Hold) bool { return h.Granted <= by })
	})
}
