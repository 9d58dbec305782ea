package impls

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// seat is a session at a server, and the one lock that it may hold there.
type seat interface {
	// name tells it from all others that the server has now.
	name() string
	// take asks for a name, waiting at the server for so long; false: another held it all the time.
	take(ctx context.Context, name string, wait time.Duration) (bool, error)
	// give gives the name back; false: the session does not hold it.
	give(ctx context.Context, name string) (bool, error)
	ping(ctx context.Context) error
	// end ends the session, and returns soon also where the server does not answer.
	end()
}

// slice is how long a waiter waits at the server before it asks anew: what is under way when its patience or its
// context ends is answered by then, so that nobody has to wonder what became of it.
const slice = 200 * time.Millisecond

// seats is a lock that is held by sessions: each grant has one for itself, and the lock is gone when the server ends
// it. Nothing expires, so that only who looks notices: a hold looks after its session.
//
// There is no Prober: the server knows which session holds a name, and not for which grant.
type seats struct {
	env  Env
	free *sessions[seat]

	mu     sync.Mutex // guards what follows; never held across a command
	held   map[string]*seated
	took   int
	closed bool // nothing is held any more
}

var _ Lock = (*seats)(nil)

var errLockClosed = errors.New("the lock is closed")

// errNotSeated is indeterminate: what held the lock is gone for us, and perhaps not yet for the server.
var errNotSeated = errors.New("the session that held the lock has ended, or does not answer")

func newSeats(env Env, open func(context.Context) (seat, error)) (*seats, error) {
	if err := CheckParams(env.Params); err != nil {
		return nil, err
	}
	return &seats{env: env, held: map[string]*seated{}, free: &sessions[seat]{open: open, end: seat.end}}, nil
}

func (l *seats) Acquire(ctx context.Context, req Request) (Hold, error) {
	start := time.Now()
	if req.Wait > 0 {
		var giveUp context.CancelFunc
		ctx, giveUp = context.WithTimeout(ctx, req.Wait)
		defer giveUp()
	}
	s, err := l.open(ctx)
	if err != nil {
		return Hold{}, fmt.Errorf("open a session: %w", err)
	}
	for {
		wait := patience(ctx, req)
		asked := time.Now()
		granted, err := ask(ctx, wait, func(ctx context.Context) (bool, error) { return s.take(ctx, l.env.Prefix+req.Key, wait) })
		switch {
		case err != nil: // it may hold the lock, or be about to
			s.end()
			return Hold{}, err
		case granted:
			return l.seated(s, req, start, asked)
		case l.isClosed():
			s.end()
			return Hold{}, errLockClosed
		case patience(ctx, req) == 0:
			l.free.put(s)
			return Hold{}, ErrBusy
		}
	}
}

func (l *seats) open(ctx context.Context) (seat, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	return l.free.take(ctx)
}

// patience is how long a waiter waits at the server now.
func patience(ctx context.Context, req Request) time.Duration {
	end, ends := ctx.Deadline()
	switch {
	case req.Wait == 0 || ctx.Err() != nil:
		return 0
	case ends:
		return max(min(slice, time.Until(end)), 0)
	}
	return slice
}

// ask asks a server that may take a while to answer, and leaves it that and a little more when the context ends.
func ask(ctx context.Context, wait time.Duration, do func(context.Context) (bool, error)) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err // nothing was sent
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait+commandTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		timer := time.NewTimer(wait + answerGrace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-asking.Done():
		}
	})()
	return do(asking)
}

// seated is a hold and the session that it is held by.
type seated struct {
	seat seat
	lost chan struct{} // closed when the session is known to be over, or not known to be there
	stop chan struct{} // closed when it is given up
	done chan struct{} // closed when nobody does
	cut  context.CancelFunc
}

// seated begins a hold, unless the lock was closed meanwhile: nobody would end its session any more.
func (l *seats) seated(s seat, req Request, start, asked time.Time) (Hold, error) {
	life, cut := context.WithCancel(context.Background())
	h := &seated{s, make(chan struct{}), make(chan struct{}), make(chan struct{}), cut}
	l.mu.Lock()
	closed := l.closed
	l.took++
	token := fmt.Sprintf("%s.%d", s.name(), l.took)
	if !closed {
		l.held[token] = h
	}
	l.mu.Unlock()
	if closed {
		cut()
		s.end()
		return Hold{}, errLockClosed
	}
	go h.lookAfter(life, max(req.TTL, minLook))
	return Hold{Grant: Grant{Key: req.Key, Owner: req.Owner, Token: token, SentAfter: asked.Sub(start), Validity: Unbounded}, Lost: h.lost}, nil
}

func (l *seats) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// minLook is the least that a session has to show a sign of life: requests need not say how long a lease is.
const minLook = 100 * time.Millisecond

// lookAfter asks the server three times within each time for a sign of life. Where one is not given within the rest of
// that, or the session is seen to have ended, the hold is lost. Its session is left until whoever holds has learnt that:
// were it ended first, the next would be granted before.
func (h *seated) lookAfter(life context.Context, within time.Duration) {
	defer close(h.done)
	tick := time.NewTicker(within / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.stop:
			return
		}
		ctx, cancel := context.WithTimeout(life, within*2/3)
		err := h.seat.ping(ctx)
		cancel()
		if err != nil {
			close(h.lost)
			h.leave(within)
			return
		}
	}
}

// leave ends the session of a hold that is lost when it is given up, or when nobody has for so long.
func (h *seated) leave(within time.Duration) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.stop:
	}
	h.seat.end()
}

// rest returns when nobody looks after the session any more; false: the hold is lost.
func (h *seated) rest(ctx context.Context) bool {
	close(h.stop)
	defer h.cut()
	select {
	case <-h.done:
	case <-ctx.Done(): // a question is under way, which is of no interest any more
		h.cut()
		<-h.done
	}
	select {
	case <-h.lost:
		return false
	default:
		return true
	}
}

// forget takes a hold out; nil: there is none.
func (l *seats) forget(token string) *seated {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[token]
	delete(l.held, token)
	return h
}

// Release gives the lock back and keeps the session, if it is known to hold nothing then.
func (l *seats) Release(ctx context.Context, g Grant) error {
	h := l.forget(g.Token)
	switch {
	case h == nil:
		return ErrNotHeld // no session of this process holds it for this grant
	case !h.rest(ctx):
		return errNotSeated
	}
	freed, err := ask(ctx, 0, func(ctx context.Context) (bool, error) { return h.seat.give(ctx, l.env.Prefix+g.Key) })
	switch {
	case err != nil:
		h.seat.end()
		return err
	case !freed:
		h.seat.end() // it is not as it was left
		return ErrNotHeld
	}
	l.free.put(h.seat)
	return nil
}

// Close ends the sessions, and with them what they hold. Whoever is waiting learns of it with the server's next answer.
func (l *seats) Close() error {
	l.mu.Lock()
	held := l.held
	l.held, l.closed = map[string]*seated{}, true
	l.mu.Unlock()
	at := make(chan struct{}, len(held))
	for _, h := range held {
		go func() {
			over, cancel := context.WithCancel(context.Background())
			cancel()
			if h.rest(over) {
				h.seat.end()
			}
			at <- struct{}{}
		}()
	}
	for range held {
		<-at
	}
	l.free.close()
	return nil
}
