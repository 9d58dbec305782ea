package impls

import "sync"

// background is what a lock still does when nobody waits for it any more, until it is closed. Other than of a
// sync.WaitGroup alone, more may begin while somebody closes it: that is not waited for.
type background struct {
	mu     sync.Mutex // held while something begins, and not while it goes on
	closed bool
	all    sync.WaitGroup
}

// Go does something in a goroutine of its own.
func (b *background) Go(do func()) {
	if !b.begin() {
		go do()
		return
	}
	go func() {
		defer b.all.Done()
		do()
	}()
}

// Do does something that is waited for, if anything still is.
func (b *background) Do(do func()) {
	if b.begin() {
		defer b.all.Done()
	}
	do()
}

func (b *background) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.all.Add(1)
	return true
}

// Close waits for all that has begun.
func (b *background) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.all.Wait()
}
