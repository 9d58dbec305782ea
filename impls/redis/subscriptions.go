package redis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls/waiting"
)

// subscriptions holds the channels on which the waiters of one process receive notifications. All channels share one
// connection, which one goroutine reads.
type subscriptions struct {
	pubsub  *redis.PubSub
	turn    chan struct{} // capacity 1: a semaphore that keeps subscribe and unsubscribe commands in order
	life    context.Context
	end     context.CancelFunc
	first   sync.Once
	reading waiting.Group

	mu sync.Mutex
	of map[string]*subscription
}

// subscription is shared by the waiters of this process that listen on one channel. Each message on the channel wakes one
// of them.
type subscription struct {
	channel string
	life    context.Context
	ready   chan struct{} // closed when the server has confirmed the subscription
	woken   chan struct{} // buffer of capacity 1; contains a notification until a waiter receives it

	waiters int  // guarded by subscriptions.mu
	active  bool // whether ready is closed; guarded by subscriptions.mu
}

func newSubscriptions(client redis.UniversalClient) *subscriptions {
	life, end := context.WithCancel(context.Background())
	return &subscriptions{pubsub: client.Subscribe(context.Background()), turn: make(chan struct{}, 1),
		of: map[string]*subscription{}, life: life, end: end}
}

// join subscribes to a channel. It returns nil if the context has ended or the lock is closed. Otherwise the caller must
// later call leave. If the subscription fails, the reading goroutine subscribes again after it reconnects.
func (s *subscriptions) join(ctx context.Context, channel string) *subscription {
	if ctx.Err() != nil {
		return nil // select would choose at random
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-s.turn }()
	if s.life.Err() != nil {
		return nil
	}
	s.mu.Lock()
	c, there := s.of[channel]
	if !there {
		c = &subscription{channel: channel, life: s.life, ready: make(chan struct{}), woken: make(chan struct{}, 1)}
		s.of[channel] = c
	}
	c.waiters++
	s.mu.Unlock()
	if !there {
		_ = s.pubsub.Subscribe(ctx, channel)
		s.first.Do(func() { s.reading.Go(s.read) })
	}
	return c
}

func (s *subscriptions) leave(c *subscription) {
	s.mu.Lock()
	c.waiters--
	s.mu.Unlock()
	s.drop(c)
}

// drop unsubscribes from a channel without waiters. It does nothing until the subscription is confirmed, because the
// late confirmation might be mistaken for that of a new subscription.
func (s *subscriptions) drop(c *subscription) {
	s.turn <- struct{}{} // does not block for long, because goroutines hold this semaphore only while they write to a socket
	defer func() { <-s.turn }()
	s.mu.Lock()
	idle := c.waiters == 0 && c.active && s.of[c.channel] == c
	if idle {
		delete(s.of, c.channel)
	}
	s.mu.Unlock()
	if idle {
		_ = s.pubsub.Unsubscribe(context.Background(), c.channel) // after an error, the library reconnects and subscribes only to the remaining channels
	}
}

const reconnectPause = 100 * time.Millisecond

func (s *subscriptions) read() {
	for s.life.Err() == nil {
		message, err := s.pubsub.Receive(context.Background())
		switch m := message.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				s.confirm(m.Channel)
			}
		case *redis.Message:
			s.mu.Lock()
			c := s.of[m.Channel]
			s.mu.Unlock()
			if c != nil {
				c.wake()
			}
		}
		if err != nil {
			waiting.Pause(s.life, reconnectPause)
		}
	}
}

// confirm handles the confirmation of a subscription. A second confirmation means that the client has reconnected, so a
// message may have been lost.
func (s *subscriptions) confirm(channel string) {
	s.mu.Lock()
	c := s.of[channel]
	if c == nil {
		s.mu.Unlock()
		return
	}
	again, abandoned := c.active, c.waiters == 0
	if !again {
		c.active = true
		close(c.ready)
	}
	s.mu.Unlock()
	switch {
	case abandoned:
		s.drop(c)
	case again:
		c.wake()
	}
}

func (s *subscriptions) close() {
	s.end()
	s.pubsub.Close() // closes the connection, so the reading goroutine ends
}

// await waits for at most the given time until the given channel receives a value or is closed. A negative time means no
// limit. await returns false if ctx has ended or the lock is closed.
func (c *subscription) await(ctx context.Context, news <-chan struct{}, atMost time.Duration) bool {
	var late <-chan time.Time
	if atMost >= 0 {
		timer := time.NewTimer(atMost)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-news:
		if ctx.Err() != nil && news == c.woken {
			c.wake() // let the message wake another waiter
		}
	case <-late:
	case <-ctx.Done():
	case <-c.life.Done():
		return false
	}
	return ctx.Err() == nil
}

func (c *subscription) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}
