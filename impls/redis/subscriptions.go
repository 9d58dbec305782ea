package redis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls/waiting"
)

// subscriptions are the channels that the waiters of one process listen to, on one connection. A channel is subscribed to
// while somebody waits. One goroutine reads, from the first waiter until close.
type subscriptions struct {
	pubsub   *redis.PubSub
	turn     chan struct{} // capacity 1: subscribing and unsubscribing go to the server in the order decided here
	life     context.Context
	end      context.CancelFunc
	listened chan struct{} // closed when the reader has ended

	mu        sync.Mutex
	of        map[string]*subscription
	listening bool
}

// subscription is one channel. A message wakes one waiter of the process, as a semaphore does.
type subscription struct {
	channel string
	life    context.Context
	ready   chan struct{} // closed when the server has confirmed it
	woken   chan struct{} // capacity 1: a message that no waiter has taken

	waiters int  // guarded by the mutex of all
	active  bool // so is this: ready is closed
}

func newSubscriptions(client redis.UniversalClient) *subscriptions {
	life, end := context.WithCancel(context.Background())
	return &subscriptions{pubsub: client.Subscribe(context.Background()), turn: make(chan struct{}, 1),
		of: map[string]*subscription{}, life: life, end: end, listened: make(chan struct{})}
}

// join has the process listen to a channel until as many have left as joined. It returns nil where the
// context or the lock is over. A subscription that fails is made by the reader when it connects again.
func (s *subscriptions) join(ctx context.Context, channel string) *subscription {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-s.turn }()
	c, first := s.enter(channel)
	if first {
		_ = s.pubsub.Subscribe(ctx, channel)
		s.listen()
	}
	return c
}

func (s *subscriptions) enter(channel string) (c *subscription, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return nil, false
	}
	c, there := s.of[channel]
	if !there {
		c = &subscription{channel: channel, life: s.life, ready: make(chan struct{}), woken: make(chan struct{}, 1)}
		s.of[channel] = c
	}
	c.waiters++
	return c, !there
}

// leave is what a waiter does at its end.
func (s *subscriptions) leave(c *subscription) {
	s.mu.Lock()
	c.waiters--
	s.mu.Unlock()
	s.drop(c)
}

// drop unsubscribes from a channel that nobody waits for. One that is not confirmed yet is dropped when it
// is: else the confirmation could be taken for that of the next.
func (s *subscriptions) drop(c *subscription) {
	s.turn <- struct{}{} // whoever has it waits for nothing but a socket
	defer func() { <-s.turn }()
	s.mu.Lock()
	idle := c.waiters == 0 && c.active && s.of[c.channel] == c
	if idle {
		delete(s.of, c.channel)
	}
	s.mu.Unlock()
	if idle {
		_ = s.pubsub.Unsubscribe(context.Background(), c.channel) // if it fails, the connection is made anew without it
	}
}

// listen starts the reader, once.
func (s *subscriptions) listen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listening || s.life.Err() != nil {
		return
	}
	s.listening = true
	go func() {
		defer close(s.listened)
		s.read()
	}()
}

// reconnectPause is how long the reader waits before it connects again.
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
			s.wake(m.Channel)
		}
		if err != nil {
			waiting.Pause(s.life, reconnectPause)
		}
	}
}

// confirm is told by the server. A second time means that the connection was lost and made again, and a
// message may have been lost with it.
func (s *subscriptions) confirm(channel string) {
	s.mu.Lock()
	c, ok := s.of[channel]
	again := ok && c.active
	if ok && !c.active {
		c.active = true
		close(c.ready)
	}
	abandoned := ok && c.waiters == 0
	s.mu.Unlock()
	switch {
	case abandoned:
		s.drop(c)
	case again:
		c.wake()
	}
}

func (s *subscriptions) wake(channel string) {
	s.mu.Lock()
	c, ok := s.of[channel]
	s.mu.Unlock()
	if ok {
		c.wake()
	}
}

// close has waiters and reader end.
func (s *subscriptions) close() {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.pubsub.Close() // the reader's connection
}

// ended waits until the reader has ended.
func (s *subscriptions) ended() error {
	s.mu.Lock()
	listening := s.listening
	s.mu.Unlock()
	if !listening {
		return nil
	}
	return endedSoon(s.listened, "the reader of a subscription did not end")
}

// confirmed waits until the server has confirmed the subscription, or for so long in vain. False means that
// the context or the lock is over.
func (c *subscription) confirmed(ctx context.Context, atMost time.Duration) bool {
	return c.await(ctx, c.ready, atMost)
}

// wait waits for a message, or for so long in vain; for ever where that is negative.
func (c *subscription) wait(ctx context.Context, atMost time.Duration) bool {
	return c.await(ctx, c.woken, atMost)
}

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
			c.wake() // for another
		}
	case <-late:
	case <-ctx.Done():
	case <-c.life.Done():
		return false
	}
	return ctx.Err() == nil
}

// wake lets one waiter go, or the next that comes.
func (c *subscription) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}
