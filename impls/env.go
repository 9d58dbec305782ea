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

// Env is the environment of a lock. A lock uses nothing else.
type Env struct {
	Nodes   []string // URLs of the servers; errors do not quote them, because they may contain passwords
	CAFile  string   // certificates to trust with TLS (rediss://); "": the system's
	Prefix  string   // prefix of every key, so that runs do not disturb each other
	Process int
	Params  map[string]string
	Dial    Dialer     // nil: the network
	Rand    *rand.Rand // safe for concurrent use

	// Renewed, unless nil, is called after each renewal that the lock makes by itself: with the grant and its new validity,
	// and the time from the call of its Acquire to this renewal's request. The error is nil (confirmed), ErrNotHeld
	// (definitely refused) or indeterminate.
	Renewed func(g Grant, sent time.Duration, err error)

	Tally *Tally // nil: no counting
}

// ReportRenewal calls Renewed, unless it is nil.
func (e Env) ReportRenewal(g Grant, sent time.Duration, err error) {
	if e.Renewed != nil {
		e.Renewed(g, sent, err)
	}
}

// Network returns the Env's dialer, or else the system's.
func (e Env) Network() Dialer {
	if e.Dial != nil {
		return e.Dial
	}
	return new(net.Dialer).DialContext
}

// Servers parses the URLs of the servers. form shows the expected form, such as "etcd://host:port".
func (e Env) Servers(form string) ([]*url.URL, error) {
	scheme, _, _ := strings.Cut(form, "://")
	var all []*url.URL
	for _, node := range e.Nodes {
		u, err := url.Parse(node)
		if err != nil || u.Scheme != scheme || u.Hostname() == "" || u.Port() == "" {
			return nil, fmt.Errorf("parse the URL of a server: want %s", form)
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

// WantOne returns an error unless the Env has one server.
func (e Env) WantOne() error {
	if len(e.Nodes) != 1 {
		return fmt.Errorf("want 1 server, got %d", len(e.Nodes))
	}
	return nil
}

// CheckParams returns an error in one sentence if the parameters of an Env are invalid.
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
			return fmt.Errorf("unknown lock parameter %q: want wait (spin or backoff) and segments (a number)", name)
		}
	}
	return nil
}

const maxSegments = 1000

// NewRand returns a seeded source of randomness for an Env, safe for concurrent use.
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

// Tally counts a lock's requests. A nil Tally counts nothing.
type Tally struct{ attempts, wasted atomic.Int64 }

// Attempt counts a request for the lock or for a place in its queue.
func (t *Tally) Attempt() {
	if t != nil {
		t.attempts.Add(1)
	}
}

// Wasted counts the refusal of a waiter after its notification.
func (t *Tally) Wasted() {
	if t != nil {
		t.wasted.Add(1)
	}
}

// Counts returns the number of requests (0 if the lock does not count) and of refusals after a notification.
func (t *Tally) Counts() (attempts, wasted int64) {
	if t == nil {
		return 0, 0
	}
	return t.attempts.Load(), t.wasted.Load()
}
