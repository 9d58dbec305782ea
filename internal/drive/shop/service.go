package shop

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockbench/histories"
	"lockbench/impls"
)

// inside is the time limit for the rest of an order after the lock is granted, in addition to the simulated work. A
// disconnect of the buyer does not cancel the order, but this limit does.
const inside = 10 * time.Second

// Service is the shop's HTTP server in one process. For each order, it acquires a lock and takes an item from the stock.
type Service struct {
	Opening
	lock         impls.Lock
	stock        *Stock
	started      time.Time
	orders, late atomic.Int64
}

var _ http.Handler = (*Service)(nil)

// NewService returns a service that uses lock, which must be open.
func NewService(o Opening, lock impls.Lock) (*Service, error) {
	stock, err := OpenStock(o.Stock, o.Prefix)
	if err != nil {
		return nil, err
	}
	return &Service{Opening: o, lock: lock, stock: stock, started: time.Now()}, nil
}

// Close closes the connections to the Redis server that holds the shop's stock. It does not close the lock.
func (s *Service) Close() error { return s.stock.Close() }

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	read := s.now()
	switch r.URL.Path {
	case orderPath:
		query := r.URL.Query()
		s.orders.Add(1)
		if query.Get("late") != "" {
			s.late.Add(1)
		}
		answer := s.sell(r.Context(), query.Get("buyer"))
		answer.Process, answer.Read, answer.Answered = s.Process, read, s.now()
		reply(w, answer)
	case clockPath:
		reply(w, Answer{Process: s.Process, Read: read, Answered: s.now()})
	case reachedPath:
		reply(w, Reached{Orders: int(s.orders.Load()), Late: int(s.late.Load())})
	default:
		http.NotFound(w, r)
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // an error means that the HTTP client has disconnected
}

func (s *Service) now() time.Duration { return time.Since(s.started) }

// sell tries to buy one item from a stock that may be split into segments. While a segment is empty, it tries the next
// segment. After any other outcome, it stops.
func (s *Service) sell(ctx context.Context, buyer string) Answer {
	v := visit{Service: s, segments: 1, empty: map[string]bool{}}
	if m, ok := s.lock.(impls.Segmenter); ok {
		v.segments = len(m.Segments(s.Product))
	}
	for {
		if outcome := v.buy(ctx, buyer); outcome != elsewhere {
			return Answer{Outcome: outcome, Steps: v.steps}
		}
	}
}

// elsewhere means that one segment of the stock is empty, but other segments may have items left.
const elsewhere Outcome = ""

type visit struct {
	*Service
	segments int
	empty    map[string]bool // keys of the segments that were found empty
	steps    []Step
}

func (v *visit) did(called time.Duration, s Step, err error) {
	s.Called, s.Returned = called, v.now()
	switch {
	case err == nil:
		s.Outcome = histories.OK
	case errors.Is(err, impls.ErrBusy), errors.Is(err, impls.ErrNotHeld), errors.Is(err, errSoldOut):
		s.Outcome, s.Error = histories.Refused, err.Error()
	default:
		s.Error = err.Error()
	}
	v.steps = append(v.steps, s)
}

var errSoldOut = errors.New("sold out")

func (v *visit) buy(ctx context.Context, buyer string) Outcome {
	called := v.now()
	h, err := v.lock.Acquire(ctx, impls.Request{Key: v.Product, Owner: buyer, TTL: v.TTL, Wait: v.Wait, KeepAlive: true})
	v.did(called, Step{Kind: histories.Acquire, Key: cmp.Or(h.Key, v.Product), SentAfter: h.SentAfter, Validity: h.Validity, Depth: uint16(h.Depth), Fence: h.Fence}, err)
	switch {
	case errors.Is(err, impls.ErrBusy):
		return Busy
	case err != nil:
		return Failed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), inside+v.Hold)
	defer cancel()
	outcome := v.under(ctx, h)
	called = v.now()
	err = v.lock.Release(ctx, h.Grant)
	v.did(called, Step{Kind: histories.Release, Key: h.Key}, err)
	return outcome
}

func (v *visit) under(ctx context.Context, h impls.Hold) Outcome {
	called := v.now()
	left, err := v.stock.Read(ctx, h.Key, h.Fence)
	v.did(called, Step{Kind: histories.Read, Key: h.Key, Value: left}, err)
	if err != nil {
		return Failed
	}
	if left <= 0 {
		return v.recordEmpty(h.Key)
	}
	if v.work(h.Lost); isLost(h.Lost) {
		v.did(v.now(), Step{Kind: histories.Lost, Key: h.Key}, nil)
		return Busy
	}
	called = v.now()
	err = v.stock.Write(ctx, h.Key, left-1, h.Fence)
	v.did(called, Step{Kind: histories.Write, Key: h.Key, Value: left - 1}, err)
	if err != nil {
		return Failed
	}
	v.did(v.now(), Step{Kind: histories.Append, Key: h.Key, Value: 1}, nil)
	return Sold
}

// recordEmpty records that a segment of the stock is empty. It returns SoldOut if all segments are empty.
// Otherwise it returns elsewhere, and the service tries another segment.
func (v *visit) recordEmpty(key string) Outcome {
	if v.empty[key] = true; len(v.empty) < v.segments {
		return elsewhere
	}
	v.did(v.now(), Step{Kind: histories.Append, Key: key}, errSoldOut)
	return SoldOut
}

// work simulates work under the lock. It returns early if the lock is lost.
func (v *visit) work(lost <-chan struct{}) {
	select {
	case <-time.After(v.Hold):
	case <-lost: // lost is nil if the lock does not report losses
	}
}

func isLost(lost <-chan struct{}) bool {
	select {
	case <-lost:
		return true
	default:
		return false
	}
}

const stockTimeout = 5 * time.Second

// Stock is a client of the separate Redis server that holds the stock, with one counter for each lock key. Its reads and
// writes are not atomic. Only the lock prevents overselling.
type Stock struct {
	client *redis.Client
	prefix string
}

// OpenStock returns a client of the Redis server that holds the shop's stock. It connects on first use.
func OpenStock(url, prefix string) (*Stock, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("invalid URL of the stock's Redis")
	}
	opts.ContextTimeoutEnabled, opts.MaxRetries, opts.Protocol, opts.DisableIdentity = true, -1, 2, true
	opts.ReadTimeout, opts.WriteTimeout, opts.DialTimeout, opts.PoolTimeout = stockTimeout, stockTimeout, stockTimeout, stockTimeout
	opts.DialerRetries = 1
	opts.PoolSize = 1024 // more connections than buyers, so no lock holder waits for a connection
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &Stock{redis.NewClient(opts), prefix}, nil
}

func (s *Stock) key(key string) string { return s.prefix + "stock:" + key }

// Keys returns the Redis keys of the remaining stock, one for each lock key.
func (s *Stock) Keys(keys []string) []string {
	var all []string
	for _, k := range keys {
		all = append(all, s.key(k))
	}
	return all
}

// Read returns the remaining stock. It does not check the fencing token.
func (s *Stock) Read(ctx context.Context, key string, _ int64) (int64, error) {
	return s.client.Get(ctx, s.key(key)).Int64()
}

// Write sets the remaining stock. It does not check the fencing token.
func (s *Stock) Write(ctx context.Context, key string, value, _ int64) error {
	return s.client.Set(ctx, s.key(key), value, 0).Err()
}

// Append does nothing, because the service reports each sale in its HTTP response.
func (*Stock) Append(context.Context, string, int64) error { return nil }

// Close closes the connections to the Redis server.
func (s *Stock) Close() error { return s.client.Close() }

const longestLine = 1 << 20

// Serve runs a service process. It reads an Opening from its input, opens the lock, writes its address, and serves until its
// input ends.
func Serve(in io.Reader, out io.Writer, open func(lock string, env impls.Env) (impls.Lock, error)) error {
	lines := bufio.NewReaderSize(io.LimitReader(in, longestLine), 4096)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return tell(out, fmt.Errorf("read the first line: %w", err))
	}
	var o Opening
	if json.Unmarshal(text, &o) != nil { // the JSON error may quote secrets from the line, so it is not returned
		return tell(out, errors.New("invalid first line"))
	}
	lock, err := open(o.Lock, impls.Env{Nodes: o.Nodes, CAFile: o.CAFile, Prefix: o.Prefix, Process: o.Process, Params: o.Params,
		Rand: impls.NewRand(o.Seed, uint64(o.Process))})
	if err != nil {
		return tell(out, err)
	}
	defer lock.Close()
	s, err := NewService(o, lock)
	if err != nil {
		return tell(out, err)
	}
	defer s.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return tell(out, err)
	}
	if err := json.NewEncoder(out).Encode(ready{Address: listener.Addr().String()}); err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, in) // the input ends when lockbench closes it or exits
		server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// tell writes an error (parameter why) to out for the parent process. It returns this error, joined with any error of
// the write.
func tell(out io.Writer, why error) error {
	return errors.Join(why, json.NewEncoder(out).Encode(ready{Error: why.Error()}))
}
