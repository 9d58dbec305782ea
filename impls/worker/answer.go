package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/impls"
)

// answer does what a request asks for.
func (s *server) answer(ctx context.Context, r Request, read time.Time) Line {
	var l Line
	var err error
	switch r.Do {
	case "ping":
	case "acquire":
		l, err = s.acquire(ctx, r, read)
	case "release":
		s.mu.Lock()
		s.held.end(r.Hold, name(r.Key, r.Token))
		s.mu.Unlock()
		err = s.lock.Release(ctx, r.Grant())
	case "renew":
		l, err = s.renew(ctx, r)
	case "probe":
		l, err = s.probe(ctx, r)
	case "read":
		l.Value, err = s.resource.read(ctx, r.Key, r.Fence)
	case "write":
		err = s.resource.write(ctx, r.Key, r.Value, r.Fence)
	case "append":
		err = s.resource.append(ctx, r.Key, r.Fence)
	default:
		err = fmt.Errorf("unknown request %q", r.Do)
	}
	l.ID = r.ID
	l.setOutcome(err)
	return l
}

// setOutcome tells definite answers from others. When in doubt, indefinite.
func (l *Line) setOutcome(err error) {
	switch {
	case err == nil:
		l.OK = true
	case errors.Is(err, impls.ErrBusy):
		l.Refused = Busy
	case errors.Is(err, impls.ErrNotHeld):
		l.Refused = NotHeld
	case errors.Is(err, errStale):
		l.Refused = Stale
	default:
		l.Error = err.Error()
	}
}

func (s *server) acquire(ctx context.Context, r Request, read time.Time) (Line, error) {
	h, err := s.lock.Acquire(ctx, impls.Request{Key: r.Key, Owner: r.Owner, TTL: time.Duration(r.TTLMS) * time.Millisecond,
		Wait: time.Duration(r.WaitMS) * time.Millisecond, KeepAlive: r.KeepAlive})
	if err != nil {
		return Line{Key: h.Key}, err
	}
	if h.Depth <= 1 {
		s.remember(h, r.ID, read)
	}
	return Line{Key: h.Key, Token: h.Token, Fence: h.Fence, Depth: h.Depth, SentAfter: int64(h.SentAfter), Validity: int64(h.Validity)}, nil
}

// remember has the loss of an outermost hold told, and its renewals.
func (s *server) remember(h impls.Hold, id int64, read time.Time) {
	s.mu.Lock()
	over, early := s.held.begin(id, name(h.Key, h.Token))
	s.mu.Unlock()
	for _, l := range early {
		s.write(l)
	}
	if h.Lost == nil {
		return
	}
	s.asked.Go(func() {
		select {
		case <-h.Lost:
			s.write(Line{Lost: id, Elapsed: int64(time.Since(read))})
		case <-over:
		case <-s.life.Done():
		}
	})
}

// renewed is what the lock's Env has told of its renewals.
func (s *server) renewed(g impls.Grant, sent time.Duration, err error) {
	l := Line{Elapsed: int64(sent), Validity: int64(g.Validity)}
	l.setOutcome(err)
	s.mu.Lock()
	l.Renewed = s.held.renewed(name(g.Key, g.Token), l)
	s.mu.Unlock()
	if l.Renewed != 0 {
		s.write(l)
	}
}

var errUnable = errors.New("this lock cannot do that")

func (s *server) renew(ctx context.Context, r Request) (Line, error) {
	renewer, ok := s.lock.(impls.Renewer)
	if !ok {
		return Line{}, errUnable
	}
	g, err := renewer.Renew(ctx, r.Grant())
	return Line{Token: g.Token, SentAfter: int64(g.SentAfter), Validity: int64(g.Validity)}, err
}

func (s *server) probe(ctx context.Context, r Request) (Line, error) {
	prober, ok := s.lock.(impls.Prober)
	if !ok {
		return Line{}, errUnable
	}
	token, left, err := prober.Probe(ctx, r.Key)
	return Line{Token: token, Left: int64(left)}, err
}
