package shop

import (
	"sync"
	"time"
)

// clocks are what is known of when the services' clocks began, in the time of the history. Each request bounds it: a service
// read it no earlier than it was sent, and its answer was read no earlier than it was about to be sent. All of them run
// alike, since processes of one machine share its monotonic clock; so the tightest bounds of all requests hold for each.
type clocks struct {
	mu sync.Mutex
	of map[int]bounds // by process
}

type bounds struct{ earliest, latest time.Duration }

func newClocks() *clocks { return &clocks{of: map[int]bounds{}} }

// learn takes a request in, by when it was sent and its answer was read, and returns what is known of the service's clock.
func (c *clocks) learn(a *Answer, sent, received time.Duration) bounds {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, known := c.of[a.Process]
	now := bounds{sent - a.Read, received - a.Answered}
	if known {
		now = bounds{max(b.earliest, now.earliest), min(b.latest, now.latest)}
	}
	c.of[a.Process] = now
	return now
}
