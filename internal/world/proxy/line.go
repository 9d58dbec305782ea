package proxy

import (
	"context"
	"sync"
	"time"
)

// maxQueued is how many bytes may be under way in one direction of a connection before its sender waits.
const maxQueued = 4 << 20

// line is a delay line: loads come out in order, each when it is due. One goroutine puts and one takes.
type line struct {
	more, room chan struct{} // tell the one who takes, or puts, to look again

	mu    sync.Mutex // guards what follows; never held across a wait
	queue []load
	size  int // bytes in the queue
}

// load is bytes, or the end of the stream.
type load struct {
	bytes  []byte
	due    time.Time // zero: at once
	ending ending
}

// ending is how a stream ends, if it does.
type ending uint8

const (
	goesOn ending = iota
	closed        // its sender has closed
	cutOff        // a rule ends the connection
)

func newLine() *line {
	return &line{more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put waits for room. What it was given when the context ended is lost.
func (l *line) put(ctx context.Context, item load) {
	for !l.offer(item) {
		select {
		case <-l.room:
		case <-ctx.Done():
			return
		}
	}
}

func (l *line) offer(item load) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size >= maxQueued && item.ending == goesOn { // for an end there is always room
		return false
	}
	l.queue = append(l.queue, item)
	l.size += len(item.bytes)
	tell(l.more)
	return true
}

func (l *line) take(ctx context.Context) (load, bool) {
	for {
		if item, ok := l.next(); ok {
			return item, sleepUntil(ctx, item.due)
		}
		select {
		case <-l.more:
		case <-ctx.Done():
			return load{}, false
		}
	}
}

func (l *line) next() (load, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return load{}, false
	}
	item := l.queue[0]
	l.queue[0] = load{} // so that its bytes can go
	l.queue = l.queue[1:]
	l.size -= len(item.bytes)
	tell(l.room)
	return item, true
}

func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it was told already
	}
}

// sleepUntil says whether that time came before the context ended.
func sleepUntil(ctx context.Context, t time.Time) bool {
	if t.IsZero() || !t.After(time.Now()) {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(time.Until(t)):
		return true
	case <-ctx.Done():
		return false
	}
}
