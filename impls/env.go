package impls

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Dialer opens a connection, as net.Dialer.DialContext does.
type Dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// Env is everything that a lock knows of the world.
type Env struct {
	Nodes   []string // URLs of the servers; errors do not quote them, because they may contain passwords
	CAFile  string   // certificates to trust with TLS (rediss://); "": the system's
	Prefix  string   // of every key, so that runs do not disturb each other
	Process int
	Params  map[string]string
	Dial    Dialer     // nil: the network
	Rand    *rand.Rand // safe for concurrent use

	// Renewed, unless nil, is called after each renewal that the lock makes by itself: with the grant and its new
	// validity, and the time from the call of its Acquire to the sending of this renewal. The error is nil (confirmed),
	// ErrNotHeld (definitely refused) or indeterminate.
	Renewed func(g Grant, sent time.Duration, err error)

	Tally *Tally // nil: nothing is counted
}

// ReportRenewal calls Renewed, if there is one.
func (e Env) ReportRenewal(g Grant, sent time.Duration, err error) {
	if e.Renewed != nil {
		e.Renewed(g, sent, err)
	}
}

// Network returns the dialer of the Env, or the network's.
func (e Env) Network() Dialer {
	if e.Dial != nil {
		return e.Dial
	}
	return new(net.Dialer).DialContext
}

// Servers parses the URLs of the servers, which have the form shown, such as "etcd://host:port".
func (e Env) Servers(form string) ([]*url.URL, error) {
	scheme, _, _ := strings.Cut(form, "://")
	var all []*url.URL
	for _, node := range e.Nodes {
		u, err := url.Parse(node)
		if err != nil || u.Scheme != scheme || u.Hostname() == "" || u.Port() == "" {
			return nil, fmt.Errorf("the URL of a server cannot be read: want %s", form)
		}
		all = append(all, u)
	}
	if len(all) == 0 {
		return nil, errors.New("want at least 1 server, got 0")
	}
	return all, nil
}

// Server parses the URL of the only server.
func (e Env) Server(form string) (*url.URL, error) {
	if err := e.WantOne(); err != nil {
		return nil, err
	}
	all, err := e.Servers(form)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// WantOne refuses several servers, and none.
func (e Env) WantOne() error {
	if len(e.Nodes) != 1 {
		return fmt.Errorf("want 1 server, got %d", len(e.Nodes))
	}
	return nil
}

// CheckParams reports, in one sentence, what is wrong with the parameters of an Env.
func CheckParams(params map[string]string) error {
	for name, value := range params {
		switch name {
		case "wait":
			if value != "spin" && value != "backoff" {
				return fmt.Errorf("lock parameter wait=%s: want spin or backoff", value)
			}
		case "segments":
			if n, err := strconv.Atoi(value); err != nil || n < 1 || n > maxSegments {
				return fmt.Errorf("lock parameter segments=%s: want a number from 1 to %d", value, maxSegments)
			}
		default:
			return fmt.Errorf("unknown lock parameter %q: there are wait (spin or backoff) and segments (a number)", name)
		}
	}
	return nil
}

const maxSegments = 1000

// NewRand returns a seeded source of randomness for an Env's tokens and jitter, safe for concurrent use.
func NewRand(seed, stream uint64) *rand.Rand {
	return rand.New(&lockedSource{src: rand.NewPCG(seed, stream)})
}

type lockedSource struct {
	mu  sync.Mutex
	src rand.Source
}

func (s *lockedSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.src.Uint64()
}

// Token returns 128 random bits in hexadecimal.
func Token(r *rand.Rand) string { return fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()) }

// Tally counts what a lock does by itself. A nil Tally counts nothing.
type Tally struct{ attempts, wasted atomic.Int64 }

// Attempt is called whenever the lock asks its store for the lock, or to be queued for it.
func (t *Tally) Attempt() {
	if t != nil {
		t.attempts.Add(1)
	}
}

// Wasted is called when a waiter that was told to ask again was refused.
func (t *Tally) Wasted() {
	if t != nil {
		t.wasted.Add(1)
	}
}

// Counts returns how often the lock asked (0 if it does not count) and how often a waiter was told to ask again in vain.
func (t *Tally) Counts() (attempts, wasted int64) {
	if t == nil {
		return 0, 0
	}
	return t.attempts.Load(), t.wasted.Load()
}
