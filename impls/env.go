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

// Dialer opens a connection, in the same way as net.Dialer.DialContext.
type Dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// Env holds everything that a lock gets from its caller: server URLs, parameters, network, randomness and a counter of
// requests.
type Env struct {
	Nodes   []string // URLs of the servers; error messages must not quote them, because they may contain passwords
	CAFile  string   // file of the CA certificates trusted for TLS (rediss://); "": the system's certificates
	Prefix  string   // prefix of every key, so that runs do not disturb each other
	Process int
	Params  map[string]string
	Dial    Dialer     // opens every connection; nil: net.Dialer
	Rand    *rand.Rand // source of random numbers; must be safe for concurrent use

	// Renewed, unless nil, is called after each automatic renewal. sent is the time at which the renewal was sent,
	// measured from the call of Acquire. g contains the new validity. err is nil if the renewal succeeded, and
	// ErrNotHeld if the store refused it. After any other error it is unknown whether the renewal succeeded.
	Renewed func(g Grant, sent time.Duration, err error)

	Tally *Tally // counts requests; nil: they are not counted
}

// ReportRenewal calls Renewed unless it is nil.
func (e Env) ReportRenewal(g Grant, sent time.Duration, err error) {
	if e.Renewed != nil {
		e.Renewed(g, sent, err)
	}
}

// Network returns Dial, or the DialContext of a net.Dialer if Dial is nil.
func (e Env) Network() Dialer {
	if e.Dial != nil {
		return e.Dial
	}
	return new(net.Dialer).DialContext
}

// Servers parses the URLs in Nodes. form is an example of a valid URL for error messages, such as "etcd://host:port".
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

// Server parses the URL of the only server. It returns an error unless Nodes has exactly one element.
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

// CheckParams returns an error if a parameter of an Env is unknown or has an invalid value.
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

// NewRand returns a random number generator with a seed. The generator is safe for concurrent use.
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

// Tally counts the requests that a lock sends. A nil Tally counts nothing.
type Tally struct{ attempts, wasted atomic.Int64 }

// Attempt counts one request to acquire the lock or to enter its queue.
func (t *Tally) Attempt() {
	if t != nil {
		t.attempts.Add(1)
	}
}

// Wasted counts a waiter that was notified of a release and then refused.
func (t *Tally) Wasted() {
	if t != nil {
		t.wasted.Add(1)
	}
}

// Counts returns the number of requests, and the number of waiters that were notified and then refused. A count that the
// lock does not record is 0.
func (t *Tally) Counts() (attempts, wasted int64) {
	if t == nil {
		return 0, 0
	}
	return t.attempts.Load(), t.wasted.Load()
}
