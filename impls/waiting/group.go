package waiting

import "sync"

// Group is the work that a lock does in the background until it is closed. Unlike with a sync.WaitGroup, more may begin
// while it is being closed: that is not waited for.
type Group struct {
	mu     sync.Mutex // held while work begins, and not while it goes on
	closed bool
	all    sync.WaitGroup
}

// Go works in a goroutine of its own.
func (g *Group) Go(work func()) {
	if !g.begin() {
		go work()
		return
	}
	go func() {
		defer g.all.Done()
		work()
	}()
}

// Do works in the caller's goroutine.
func (g *Group) Do(work func()) {
	if g.begin() {
		defer g.all.Done()
	}
	work()
}

func (g *Group) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.all.Add(1)
	return true
}

// Close waits for all work that has begun.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.all.Wait()
}
