package shop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"lockbench/histories"
	"lockbench/workloads"
)

// Sale simulates a flash sale: many buyers order items of a limited stock from an online shop. Each buyer has one connection
// and sends one order at a time.
type Sale struct {
	Services []*Process
	Gate     *Gate // nginx in front of the services; if nil, buyer n uses service n modulo the number of services
	Params   workloads.Params
	Recorder *histories.Recorder
	Granted  *atomic.Int64 // number of successful orders so far, for the progress output

	clocks  *clocks
	clients []*http.Client
	started time.Duration
	mu      sync.Mutex // guards the fields below
	figures counts
}

type counts struct {
	Figures
	ended  time.Duration   // time at which the buyer of the last item received the answer
	orders []time.Duration // durations of successful orders
	turned []time.Duration // durations of orders that were sent after the sell-out
}

const clockLooks = 20

// Open connects every buyer and measures the clock offsets of the services.
func (s *Sale) Open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout+startTimeout)
	defer cancel()
	s.clocks = newClocks()
	for range s.Params.Clients {
		s.clients = append(s.clients, &http.Client{Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: askTimeout}).DialContext, MaxIdleConnsPerHost: 1, DisableCompression: true}})
	}
	for _, p := range s.Services {
		for range clockLooks {
			sent := s.Recorder.Since()
			a, err := ask[Answer](ctx, s.clients[0], http.MethodGet, p.URL+clockPath)
			if err != nil {
				return fmt.Errorf("read the clock of a service: %w", err)
			}
			s.clocks.learn(&a, sent, s.Recorder.Since())
		}
	}
	all, ctx := errgroup.WithContext(ctx)
	for n, c := range s.clients {
		all.Go(func() error {
			_, err := ask[Answer](ctx, c, http.MethodGet, s.url(n)+clockPath)
			return err
		})
	}
	return all.Wait()
}

// Close closes the HTTP connections of the simulated buyers.
func (s *Sale) Close() {
	for _, c := range s.clients {
		c.CloseIdleConnections()
	}
}

func (s *Sale) url(buyer int) string {
	if s.Gate != nil {
		return s.Gate.URL
	}
	return s.Services[buyer%len(s.Services)].URL
}

// ask sends an HTTP request to the shop and returns the decoded answer. Purchase orders use POST, because net/http never
// retries a POST.
func ask[T Answer | Reached](ctx context.Context, c *http.Client, method, at string) (a T, err error) {
	req, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		return a, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusGone {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, longestLine))
		return a, fmt.Errorf("unexpected status %s", resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return a, err
	}
	_, err = io.Copy(io.Discard, resp.Body) // read the body to its end, so that net/http can reuse the connection
	return a, err
}

// Sell lets buyers send orders until everything is sold, the time limit has passed or ctx is done. It then waits for
// orders in progress. These are cancelled after the TTL plus one second, or after two seconds if ctx is done.
func (s *Sale) Sell(ctx context.Context, limit time.Duration) {
	s.started = s.Recorder.Since()
	stop, soldOut := context.WithTimeout(ctx, limit)
	defer soldOut()
	s.buyers(ctx, stop, false, func(o Outcome) {
		if o == SoldOut || o == Sold && s.Granted.Load() >= int64(s.Params.Stock) {
			soldOut()
		}
	})
}

// Linger lets buyers send orders for a while after the sell-out.
func (s *Sale) Linger(ctx context.Context, during time.Duration) {
	stop, cancel := context.WithTimeout(ctx, during)
	defer cancel()
	s.buyers(ctx, stop, true, func(Outcome) {})
}

const interruptedGrace = 2 * time.Second

func (s *Sale) buyers(ctx, stop context.Context, late bool, told func(Outcome)) {
	orders, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(stop, func() {
		grace := s.Params.TTL + time.Second
		if ctx.Err() != nil {
			grace = interruptedGrace
		}
		time.AfterFunc(grace, cut)
	})()
	var all sync.WaitGroup
	for n := range s.clients {
		all.Go(func() {
			b := buyer{Sale: s, number: n, late: late, log: s.Recorder.Log(int32(n))}
			for i := uint64(0); stop.Err() == nil; i++ {
				if b.think(stop, i); stop.Err() == nil {
					told(b.order(orders))
				}
			}
		})
	}
	all.Wait()
}

type buyer struct {
	*Sale
	number int
	late   bool
	log    *histories.Log
}

// think makes a simulated buyer wait before its next order, for a random time of up to twice Params.Think. The time depends
// only on the seed, the buyer's number and the order's number.
func (b *buyer) think(stop context.Context, order uint64) {
	mean := int64(b.Params.Think)
	if mean <= 0 {
		return
	}
	stream := uint64(b.number)<<40 | order
	select {
	case <-time.After(time.Duration(rand.New(rand.NewPCG(b.Params.Seed, stream)).Int64N(2 * mean))):
	case <-stop.Done():
	}
}

func (b *buyer) order(ctx context.Context) Outcome {
	query := url.Values{"buyer": {fmt.Sprintf("c%d.%d", b.number, b.log.Life())}}
	if b.late {
		query.Set("late", "1")
	}
	sent := b.log.Begin()
	a, err := ask[Answer](ctx, b.clients[b.number], http.MethodPost, b.url(b.number)+orderPath+"?"+query.Encode())
	received := b.Recorder.Since()
	if err != nil {
		a.Outcome = Failed
	}
	ops, unplaced := b.record(a, err, sent, received)
	b.log.Tell(ops...)
	b.count(a, unplaced, sent, received)
	return a.Outcome
}

// record returns the operations that the history records for an order. If a service answered, they are the operations in
// its answer. A sale is an append, so an order refused by the nginx gate is a refused append. If the request failed, the
// only operation is an acquire with an unknown outcome.
func (b *buyer) record(a Answer, err error, sent, received time.Duration) (ops []histories.Op, unplaced int) {
	product := b.Params.KeyNames()[0]
	switch {
	case err != nil:
		return []histories.Op{{Kind: histories.Acquire, Hold: b.log.NextHold(), Key: product, Call: sent, Return: received, Error: err.Error()}}, 0
	case a.Gate:
		return []histories.Op{{Kind: histories.Append, Outcome: histories.Refused, Key: product, Call: sent, Return: received, Error: "sold out"}}, 0
	}
	t := account{bounds: b.clocks.learn(&a, sent, received), sent: sent, received: received, hold: b.log.NextHold}
	return t.tell(a.Steps), t.unplaced
}

func (b *buyer) count(a Answer, unplaced int, sent, received time.Duration) {
	if a.Outcome == Sold {
		b.Granted.Add(1)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	f := &b.figures
	f.Unplaced += unplaced
	switch a.Outcome {
	case Sold:
		f.Sold++
		f.ended = max(f.ended, received)
		f.orders = append(f.orders, received-sent)
	case SoldOut:
		f.Refused++
	case Busy:
		f.Busy++
	default:
		f.Unknown++
	}
	if b.late {
		f.Late++
		f.turned = append(f.turned, received-sent)
	}
}
