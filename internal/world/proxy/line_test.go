package proxy

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestLineOverlaps puts many loads at once: all are under way at the same time, so each comes after one delay.
func TestLineOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		l, began := newLine(), time.Now()
		for i := range 100 {
			l.put(t.Context(), load{bytes: []byte{byte(i)}, due: began.Add(delay)})
		}
		l.put(t.Context(), load{bytes: []byte{100}}) // at once, but not before what came before
		for i := range 101 {
			item, ok := l.take(t.Context())
			if !ok || item.bytes[0] != byte(i) || time.Since(began) != delay {
				t.Fatalf("%v, %t after %v, as the %d. one", item, ok, time.Since(began), i)
			}
		}
	})
}

// TestLineIsBounded has a taker that does not come: who puts waits, and can be told to stop.
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
			t.Errorf("%d loads were let in", put)
		}
		l.put(ctx, load{ending: closed}) // for which there is always room
		if _, ok := l.take(ctx); !ok {
			t.Error("nothing to take")
		}
		synctest.Wait()
		if put != 5 {
			t.Errorf("%d loads were let in after one was taken", put)
		}
		cancel()
		synctest.Wait()
		if _, ok := newLine().take(ctx); ok {
			t.Error("taken from an empty line")
		}
	})
}
