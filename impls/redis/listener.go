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

	"lockbench/impls/waiting"
)

// listener receives the grants for all waiters of one process, on one subscription. It subscribes when the first waiter
// arrives.
type listener struct {
	Node
	id    string // id of the process; part of the channel name
	names string // common prefix of the channel names of all processes
	stray func(key, token string)

	first     sync.Once
	receiving waiting.Group
	life      context.Context
	end       context.CancelFunc

	mu      sync.Mutex // guards the fields below; never held across a command
	sub     *redis.PubSub
	waiters map[string]*waiter
}

type waiter struct {
	granted chan int64    // receives the fencing token of the grant
	look    chan struct{} // receives a value when messages may have been lost; the waiter then repeats its request
}

const (
	quietFor    = 3 * time.Second // time without messages after which the connection is pinged
	resubscribe = 50 * time.Millisecond
)

// listen starts the subscription, unless it was started. When the server confirms it, all waiters repeat their requests.
func (l *listener) listen() { l.first.Do(func() { l.receiving.Go(l.receive) }) }

// subscribe opens a subscription and stores it in place of the previous one. If the subscription fails, the next receive
// returns an error.
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
	sub, quiet := l.subscribe(), false
	for l.life.Err() == nil {
		message, err := sub.ReceiveTimeout(l.life, quietFor)
		var timeout net.Error
		switch isQuiet := errors.As(err, &timeout) && timeout.Timeout(); {
		case isQuiet && !quiet:
			quiet = true
			_ = sub.Ping(l.life) // if the ping fails, the next receive returns the error
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
			l.lookAll() // messages published before the subscription was confirmed are lost, so each waiter repeats its request
		case *redis.Message:
			l.hand(m.Payload)
		}
	}
}

// hand parses a grant message and notifies the waiter. The message contains the token, the fencing token and the key.
func (l *listener) hand(payload string) {
	token, rest, _ := strings.Cut(payload, " ")
	number, key, _ := strings.Cut(rest, " ")
	fence, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return // any client can publish, so this may not be a grant message
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
	for _, token := range slices.Sorted(maps.Keys(l.waiters)) { // sorted, so that runs in virtual time are deterministic
		w := l.waiters[token]
		select {
		case w.look <- struct{}{}:
		default:
		}
	}
}

// join registers a waiter for a grant with the given token. The returned function leave removes the waiter.
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
