package redis

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// listener is one process's subscription to the grants that are handed to its waiters: one connection, made when the first
// waits.
type listener struct {
	Node
	id    string // of the process; its channel is named after it
	names string // what the names of all processes' channels begin with
	stray func(key, token string)

	first     sync.Once
	receiving waiting.Group
	ready     chan struct{} // closed when the server has confirmed the subscription
	life      context.Context
	end       context.CancelFunc

	mu      sync.Mutex // guards what follows; never held across a command
	sub     *redis.PubSub
	waiters map[string]*waiter
}

// waiter is one that is in the queue.
type waiter struct {
	granted chan int64    // the fence
	look    chan struct{} // it may have missed something
}

const (
	readyWithin = time.Second     // then the question itself shall find out what is wrong
	quietFor    = 3 * time.Second // a connection on which nothing came for so long is asked whether it lives
	resubscribe = 50 * time.Millisecond
)

// listen returns when what is handed to this process is heard.
func (l *listener) listen(ctx context.Context) error {
	if waiting.Over(l.ready) {
		return nil
	}
	if l.life.Err() != nil {
		return impls.ErrClosed
	}
	l.first.Do(func() { l.receiving.Go(l.receive) })
	timer := time.NewTimer(readyWithin)
	defer timer.Stop()
	select {
	case <-l.ready:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// subscribe opens a subscription in place of the last one. Receiving finds out if that failed, and tries again.
func (l *listener) subscribe() *redis.PubSub {
	sub := l.Subscribe(l.life, l.names+l.id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sub = sub; l.life.Err() != nil {
		_ = sub.Close() // the lock was closed meanwhile
	}
	return sub
}

func (l *listener) receive() {
	sub, quiet, confirmed := l.subscribe(), false, false
	for l.life.Err() == nil {
		message, err := sub.ReceiveTimeout(l.life, quietFor)
		var timeout net.Error
		switch isQuiet := errors.As(err, &timeout) && timeout.Timeout(); {
		case isQuiet && !quiet:
			quiet = true
			_ = sub.Ping(l.life) // an error shows in the next reading
			continue
		case isQuiet:
			_ = sub.Close()
			sub = l.subscribe()
		case err != nil:
			waiting.Pause(l.life, resubscribe)
		}
		quiet = false
		switch m := message.(type) {
		case *redis.Subscription:
			if !confirmed {
				confirmed = true
				close(l.ready)
			}
			l.lookAll() // what was published before is gone
		case *redis.Message:
			l.hand(m.Payload)
		}
	}
}

// hand gives a grant to the waiter whose token it bears: token, fence, key.
func (l *listener) hand(payload string) {
	token, rest, _ := strings.Cut(payload, " ")
	number, key, _ := strings.Cut(rest, " ")
	fence, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return // not of a lock: anyone may publish
	}
	l.mu.Lock()
	w := l.waiters[token]
	l.mu.Unlock()
	if w == nil {
		l.stray(strings.TrimPrefix(key, l.prefix), token)
		return
	}
	select {
	case w.granted <- fence:
	default:
	}
}

func (l *listener) lookAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, token := range slices.Sorted(maps.Keys(l.waiters)) { // in an order that is the same in virtual time
		w := l.waiters[token]
		select {
		case w.look <- struct{}{}:
		default:
		}
	}
}

// join has grants of a token handed to the waiter, until it leaves.
func (l *listener) join(token string) (w *waiter, leave func()) {
	w = &waiter{granted: make(chan int64, 1), look: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters[token] = w
	return w, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiters, token)
	}
}

func (l *listener) close() error {
	l.end()
	l.mu.Lock()
	sub := l.sub
	l.mu.Unlock()
	var err error
	if sub != nil {
		err = sub.Close()
	}
	l.receiving.Close()
	return err
}
