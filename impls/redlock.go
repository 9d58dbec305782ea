package impls

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// redLock is the algorithm that the Redis documentation describes for several independent servers: whoever
// sets the same key on a majority of them within the lease holds the lock. It survives the death of a
// minority. It mints no fencing token, and relies on servers that neither forget nor let their clocks jump.
func redLock() Impl {
	return Impl{
		Name: "redlock", Store: "redis", Deployment: "five", BackOff: longestPause,
		Doc: "the same random token on a majority of five independent servers",
		Expect: together(
			expect(Holds, "two majorities share a server, and that server's SET NX is atomic",
				"lease-exclusion", "mutual-exclusion", "resource-integrity"),
			expect(Holds, "a split vote is cleaned up and tried again after a random pause; what is forgotten expires", "no-orphan", "progress"),
			lateHolder("holder-stall process-pause"),
			under("pause-before-answer", threeViews(Holds, "it looks at the time when the answers are read, and gives back what is over")),
			survives("minority-down", "three of five are a majority"),
			survives("slow-network lost-reply partition cancelled-acquire delayed-release", "what is not known to be granted is cleaned up or expires, and a majority is enough"),
			recovers("holder-kill holder-abandon", "the keys expire with their lease on every server"),
			under("node-restart", expect(Breaks, "a server that granted comes back empty, and is the third vote for the next", "lease-exclusion", "mutual-exclusion")),
			under("clock-forward", expect(Breaks, "a server that granted takes the lease for over, and is the third vote for the next", "lease-exclusion", "mutual-exclusion")),
			on("five-delayed", under("node-restart", threeViews(Holds, "a server that may have forgotten stays away until every lease is over"))),
			comparedRelease(), promiseOutlived()),
		Open: openRedLock,
	}
}

//go:embed lua/compare_and_pexpire.lua
var compareAndPExpireLua string

var compareAndPExpire = redis.NewScript(compareAndPExpireLua)

type redLockLock struct {
	polling
	env   Env
	nodes []node
	rest  background // what goes on at slow servers after the caller has its answer
}

var (
	_ Lock    = (*redLockLock)(nil)
	_ Renewer = (*redLockLock)(nil)
	_ Prober  = (*redLockLock)(nil)
)

func openRedLock(env Env) (Lock, error) {
	if n := len(env.Nodes); n < 3 || n%2 == 0 {
		return nil, fmt.Errorf("want an odd number of servers, at least 3, got %d: an even number survives no more deaths than one less", n)
	}
	p, err := newPolling(env)
	p.spin = false // two that come in step would split the vote again and again
	l := &redLockLock{polling: p, env: env}
	for _, url := range env.Nodes {
		n, nodeErr := connect(env, url)
		if err = errors.Join(err, nodeErr); nodeErr == nil {
			l.nodes = append(l.nodes, n)
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *redLockLock) majority() int { return len(l.nodes)/2 + 1 }

// perNode is how long one server may take. It is short against the lease, and not so short that a busy
// machine looks like a dead server.
func perNode(ttl time.Duration) time.Duration {
	return min(max(ttl/8, 50*time.Millisecond), 500*time.Millisecond)
}

// votes are what the servers said: yes, no, or nothing that could be relied on.
type votes struct {
	yes, no, unknown int
	left             []node // those that did not say no
	err              error  // of the first in their row that did not answer
	first            int    // that one's place in the row
}

// missed keeps the error of a server that did not answer. Of several at one instant any may be heard first.
func (v *votes) missed(a answer) {
	if v.err == nil || a.at < v.first {
		v.err, v.first = a.err, a.at
	}
}

// answer is what one server said.
type answer struct {
	from node
	at   int // in the row of those that were asked
	err  error
}

// ask has servers do something at once, each within a bound, and returns when enough says so or all have
// answered. What is left goes on within its bound. No is a definite no, also of a server that is not there.
func (l *redLockLock) ask(ctx context.Context, of []node, within time.Duration, do func(context.Context, node) error, enough func(votes) bool) votes {
	answers := make(chan answer, len(of))
	for i, n := range of {
		l.rest.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, within)
			defer cancel()
			answers <- answer{n, i, do(ctx, n)}
		})
	}
	var v votes
	for range of {
		switch a := <-answers; {
		case a.err == nil:
			v.yes, v.left = v.yes+1, append(v.left, a.from)
		case errors.Is(a.err, ErrBusy), errors.Is(a.err, ErrNotHeld):
			v.no++
		case errors.Is(a.err, syscall.ECONNREFUSED):
			v.no++
			v.missed(a)
		default:
			v.unknown, v.left = v.unknown+1, append(v.left, a.from)
			v.missed(a)
		}
		if enough(v) {
			break
		}
	}
	return v
}

func (l *redLockLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	if err := checkTTL(req.TTL); err != nil {
		return Hold{}, err
	}
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) { return l.attempt(ctx, req) })
}

// attempt asks once, with a token of its own: what is late of an earlier attempt's clean-up must not delete
// what this one sets.
func (l *redLockLock) attempt(ctx context.Context, req Request) (Grant, error) {
	start, mine := time.Now(), token(l.env.Rand)
	v := l.ask(ctx, l.nodes, perNode(req.TTL), func(ctx context.Context, n node) error {
		return n.setNXPX(ctx, req.Key, mine, req.TTL)
	}, func(votes) bool { return false })
	// The promise counts from the sending, so that it is the whole lease less the drift; what is left of it
	// when the answers are here decides.
	validity := req.TTL - drift(req.TTL)
	if v.yes >= l.majority() && time.Since(start) < validity {
		return Grant{Key: req.Key, Owner: req.Owner, Token: mine, Validity: validity}, nil
	}
	// A server that said no does not have the token, and never will; the others are told to forget it.
	cleaned := l.release(ctx, v.left, perNode(req.TTL), req.Key, mine, func(c votes) bool { return v.no+c.yes+c.no >= l.majority() })
	switch {
	case v.yes+v.unknown >= l.majority() && (v.unknown > 0 || v.no+cleaned.yes+cleaned.no < l.majority()):
		// What is still on its way may yet be set on a majority, for a lease.
		return Grant{}, fmt.Errorf("%d of %d servers granted, %d did not say: %w", v.yes, len(l.nodes), v.unknown, errors.Join(v.err, cleaned.err))
	case v.err != nil:
		return Grant{}, fmt.Errorf("%d of %d servers granted: %w (%v)", v.yes, len(l.nodes), ErrBusy, v.err)
	}
	return Grant{}, ErrBusy
}

// release deletes the token from servers, whatever became of the caller, and returns when enough says so.
func (l *redLockLock) release(ctx context.Context, of []node, within time.Duration, key, token string, enough func(votes) bool) votes {
	return l.ask(context.WithoutCancel(ctx), of, within, func(ctx context.Context, n node) error {
		return n.deleteIfMine(ctx, key, token)
	}, enough)
}

// Release deletes the token everywhere, and returns when a majority has answered.
func (l *redLockLock) Release(ctx context.Context, g Grant) error {
	v := l.release(ctx, l.nodes, perNode(leaseOf(g)), g.Key, g.Token, func(v votes) bool { return v.yes >= l.majority() || v.no > len(l.nodes)-l.majority() })
	switch {
	case v.yes >= l.majority():
		return nil
	case v.no > len(l.nodes)-l.majority(): // it was on no majority any more
		return ErrNotHeld
	}
	return fmt.Errorf("%d of %d servers released, %d did not say: %w", v.yes, len(l.nodes), v.unknown, v.err)
}

// Renew extends the lease where the token still is. One that is gone is not set again.
func (l *redLockLock) Renew(ctx context.Context, g Grant) (Grant, error) {
	start, ttl := time.Now(), leaseOf(g)
	v := l.ask(ctx, l.nodes, perNode(ttl), func(ctx context.Context, n node) error {
		return notHeldIfNone(compareAndPExpire.Run(ctx, n.UniversalClient, []string{n.key(g.Key)}, g.Token, ttl.Milliseconds()).Int64())
	}, func(v votes) bool { return v.yes >= l.majority() })
	switch {
	case v.yes >= l.majority() && time.Since(start) < ttl-drift(ttl):
		g.SentAfter, g.Validity = 0, ttl-drift(ttl)
		return g, nil
	case v.no > len(l.nodes)-l.majority():
		return g, ErrNotHeld
	}
	return g, fmt.Errorf("%d of %d servers extended, %d did not say: %w", v.yes, len(l.nodes), v.unknown, v.err)
}

// leaseOf is the TTL that a grant was asked for with, to the millisecond: its validity is that less the drift.
func leaseOf(g Grant) time.Duration {
	return ((g.Validity + 2*time.Millisecond) * 100 / 99).Round(time.Millisecond)
}

// Probe says who has a majority.
func (l *redLockLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	return probeMajority(ctx, l.nodes, key)
}

// probeMajority asks independent servers for the token that a majority of them has.
func probeMajority(ctx context.Context, nodes []node, key string) (string, time.Duration, error) {
	count, least := map[string]int{}, map[string]time.Duration{}
	var errs []error
	for _, n := range nodes {
		token, left, err := n.Probe(ctx, key)
		errs = append(errs, err)
		if token == "" {
			continue
		}
		if count[token]++; count[token] == 1 || left < least[token] {
			least[token] = left
		}
		if count[token] == len(nodes)/2+1 {
			return token, least[token], nil
		}
	}
	return "", 0, errors.Join(errs...)
}

// Close waits for what goes on at slow servers, which is bounded.
func (l *redLockLock) Close() error {
	l.rest.Close()
	var errs []error
	for _, n := range l.nodes {
		errs = append(errs, n.UniversalClient.Close())
	}
	return errors.Join(errs...)
}
