package proxy

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestLineOverlaps checks that delays overlap. 100 items with a delay of one second must arrive after one second.
func TestLineOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		l, began := newLine(), time.Now()
		for i := range 100 {
			l.put(t.Context(), load{bytes: []byte{byte(i)}, due: began.Add(delay)})
		}
		l.put(t.Context(), load{bytes: []byte{100}}) // an item without a delay must not overtake earlier items
		for i := range 101 {
			item, ok := l.take(t.Context())
			if !ok || item.bytes[0] != byte(i) || time.Since(began) != delay {
				t.Fatalf("%v, %t after %v, as the %d. one", item, ok, time.Since(began), i)
			}
		}
	})
}

// TestLineIsBounded checks that put waits while the queue is full. It must return when the context ends.
func TestLineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l, put := newLine(), 0
		go func() {
			for ctx.Err() == nil {
				l.put(ctx, load{bytes: make([]byte, maxQueued/4)})
				put++
			}
		}()
		synctest.Wait()
		if put != 4 {
			t.Errorf("%d loads were accepted", put)
		}
		l.put(ctx, load{ending: closed}) // the end of the stream is accepted even if the queue is full
		if _, ok := l.take(ctx); !ok {
			t.Error("nothing to take")
		}
		synctest.Wait()
		if put != 5 {
			t.Errorf("%d loads were accepted after one was taken", put)
		}
		cancel()
		synctest.Wait()
		if _, ok := newLine().take(ctx); ok {
			t.Error("taken from an empty line")
		}
	})
}
