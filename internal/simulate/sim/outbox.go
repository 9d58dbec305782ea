package sim

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"time"
)

// outbox is where what is written waits until nobody runs any more at that instant: for a nanosecond.
//
// One message may wake several goroutines, which run in any order: on a busy machine the runtime interrupts whom it likes.
// Each of them takes a connection and writes. What was written at one instant leaves in an order that depends on nothing
// but what was written, so that neither when it arrives nor which rule it meets depends on who came first.
type outbox struct {
	mu      sync.Mutex // guards what follows; taken while a pipe's is held, never the other way about
	letters []letter
	leaves  *time.Timer
}

// letter is what was written into a pipe at one instant: one chunk for each write, nil for the end.
type letter struct {
	pipe   *pipe
	chunks [][]byte
}

func newOutbox() *outbox {
	o := &outbox{}
	o.leaves = time.AfterFunc(never, o.leave)
	o.leaves.Stop()
	return o
}

// put takes a chunk, which nobody changes any more.
func (o *outbox) put(p *pipe, chunk []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.letters {
		if l := &o.letters[i]; l.pipe == p {
			l.chunks = append(l.chunks, chunk)
			return
		}
	}
	o.letters = append(o.letters, letter{p, [][]byte{chunk}})
	if len(o.letters) == 1 {
		o.leaves.Reset(1)
	}
}

// leave sends everything.
func (o *outbox) leave() {
	o.mu.Lock()
	letters := o.letters
	o.letters = nil
	o.mu.Unlock()
	if len(letters) > 1 {
		slices.SortFunc(letters, before)
	}
	for _, l := range letters {
		l.pipe.leave(l.chunks)
	}
}

// before orders letters. Those that say the same are told apart by the connection, which counts where several hear one
// message: who subscribed first hears it first.
func before(a, b letter) int {
	x, y := a.pipe.pair, b.pipe.pair
	return cmp.Or(cmp.Compare(x.link.timetable.first, y.link.timetable.first), cmp.Compare(a.pipe.direction, b.pipe.direction),
		bytes.Compare(a.chunks[0], b.chunks[0]), cmp.Compare(x.number, y.number))
}
