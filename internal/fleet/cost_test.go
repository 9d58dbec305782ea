package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/internal/world/proxy"
)

// task100ms is a handler that works for 100 ms, as long as the shortest batches of a search.
func task100ms(ctx context.Context, body json.RawMessage) (any, error) {
	time.Sleep(100 * time.Millisecond)
	return double(ctx, body)
}

// BenchmarkTask measures the cost of a task that does nothing: called directly, given to the agent of this process, and given
// to an agent that is connected over TCP, with a result of 50 kB.
func BenchmarkTask(b *testing.B) {
	large := strings.Repeat("0123456789abcdef", 50<<10/16)
	handlers := Handlers{"double": double, "large": func(context.Context, json.RawMessage) (any, error) { return large, nil }}
	b.Run("direct", func(b *testing.B) {
		for i := range b.N {
			body, _ := json.Marshal(i)
			if _, err := double(b.Context(), body); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, x := range []struct {
		name, kind string
		remote     bool
	}{{"alone", "double", false}, {"agent", "double", true}, {"agent, 50 kB", "large", true}} {
		b.Run(x.name, func(b *testing.B) {
			o := Options{Dir: b.TempDir(), Identity: "benchmark", Slots: 1, Handlers: handlers}
			if x.remote {
				o.Slots, o.Listen = 0, Listen{URL: freeAddress(b)}
			}
			c, err := Open(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close(true)
			if x.remote {
				a, err := Join(b.Context(), Address{URL: o.Listen.URL}, Offer{Slots: 1, Tasks: handlers})
				if err != nil {
					b.Fatal(err)
				}
				defer a.Close()
			}
			b.ResetTimer()
			for i := range b.N {
				if _, err := Do[any](b.Context(), c, x.kind, fmt.Sprint(i), i, time.Minute); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDelay measures how many tasks of 100 ms an agent with one slot runs, directly and behind a delay of 20 ms in each
// direction.
func BenchmarkDelay(b *testing.B) {
	for _, delay := range []time.Duration{0, 20 * time.Millisecond} {
		b.Run(delay.String(), func(b *testing.B) {
			address := freeAddress(b)
			c, err := Open(b.Context(), Options{Dir: b.TempDir(), Listen: Listen{URL: address}})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close(true)
			distant, err := proxy.Listen(strings.TrimPrefix(address, "nats://"), proxy.Opaque)
			if err != nil {
				b.Fatal(err)
			}
			defer distant.Close()
			distant.Delay(delay)
			a, err := Join(b.Context(), Address{URL: "nats://" + distant.Addr()}, Offer{Slots: 1, Tasks: Handlers{"double": task100ms}})
			if err != nil {
				b.Fatal(err)
			}
			defer a.Close()
			var work sync.WaitGroup
			var failed atomic.Int64
			for len(c.Agents()) == 0 {
				time.Sleep(time.Millisecond)
			}
			b.ResetTimer()
			for i := range b.N {
				done, err := c.Turn(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				work.Go(func() {
					defer done()
					if _, err := Do[int](b.Context(), c, "double", fmt.Sprint(i), i, time.Minute); err != nil {
						failed.Add(1)
					}
				})
			}
			work.Wait()
			b.ReportMetric(100*float64(b.N)*float64(100*time.Millisecond)/float64(b.Elapsed()), "%busy")
			if failed.Load() > 0 {
				b.Errorf("%d tasks failed", failed.Load())
			}
		})
	}
}
