package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/lease"
	"lockbench/impls/waiting"
)

// RedLock is the algorithm of the Redis documentation for independent servers. A client acquires the lock if it sets the
// key on a majority of the servers within the lease. RedLock has no fencing tokens. It is safe only if servers do not lose
// their data and their clocks do not jump.
func RedLock() impls.Impl {
	return impls.Impl{
		Name: "redlock", Store: "redis", Deployment: "five", Extends: true, AllowsDrift: true, CleansUp: true, ChecksLease: true, BackOff: waiting.LongestPause,
		Doc: "the same random token on a majority of five independent servers",
		Expect: slices.Concat(expect.Answers(),
			expect.Excludes("two majorities share a server, and that server's SET NX is atomic"),
			expect.Holds("a split vote is cleaned up and tried again after a random delay; other keys expire", "no-orphan", "progress"),
			expect.LateHolder("holder-stall process-pause"),
			expect.Under("pause-before-answer", expect.Excludes("it checks the time when it reads the answers, and releases an expired grant")),
			expect.Survives("minority-down", "three of five are a majority"),
			expect.Survives("slow-network lost-reply partition cancelled-acquire delayed-release", "an unknown grant is cleaned up or expires, and a majority suffices"),
			expect.Recovers("holder-kill holder-abandon", "the keys expire with their lease on every server"),
			expect.Under("node-restart", expect.Violated("a server that granted comes back empty and votes for the next client", "lease-exclusion", "mutual-exclusion")),
			expect.Under("clock-forward", expect.Violated("on a server that granted the lease expires early, and it votes for the next client", "lease-exclusion", "mutual-exclusion")),
			expect.On("five-delayed", expect.Under("node-restart", expect.Excludes("a restarted server stays away until every lease has expired"))),
			expect.ComparedRelease(), expect.Backed(), expect.PromiseOutlived()),
		Open: func(env impls.Env) (impls.Lock, error) {
			if n := len(env.Nodes); n < 3 || n%2 == 0 {
				return nil, fmt.Errorf("want an odd number of servers, at least 3, got %d: an even number tolerates no more failures than one less", n)
			}
			p := waiting.NewPolling(env)
			p.Spin = false // without random delays, clients that try at the same time would repeatedly split the votes
			nodes, err := Connect(env)
			if err != nil {
				return nil, err
			}
			return &redLockLock{Nodes: nodes, Polling: p, env: env}, nil
		},
	}
}

type redLockLock struct {
	Nodes
	waiting.Polling
	env  impls.Env
	rest waiting.Group // tracks requests to slow servers; these requests may continue after the method that sent them has returned
}

var _ impls.Renewer = (*redLockLock)(nil)

func (l *redLockLock) majority() int { return len(l.Nodes)/2 + 1 }

// lost reports whether a majority is impossible, because too many servers have refused.
func (l *redLockLock) lost(v votes) bool { return v.no > len(l.Nodes)-l.majority() }

func (l *redLockLock) unsure(v votes, done string) error {
	return fmt.Errorf("%d of %d servers %s, %d did not say: %w", v.yes, len(l.Nodes), done, len(v.left)-v.yes, v.err())
}

// perNode returns the timeout for a request to one server. The timeout is short compared with the lease, but long enough
// for a slow machine.
func perNode(ttl time.Duration) time.Duration {
	return min(max(ttl/8, 50*time.Millisecond), 500*time.Millisecond)
}

// votes counts the servers that executed a command and the servers that refused it.
type votes struct {
	yes, no int
	left    []Node  // servers that executed the command or may have executed it
	missed  []error // errors of the servers that did not answer, in the order of the servers
}

func (v votes) err() error { return cmp.Or(v.missed...) }

// ask calls do(ctx, n) for each given server n concurrently, with a timeout for each call. It returns when all servers
// have answered or timed out. It returns earlier if enough(v) is true for the votes v received so far. A refused
// connection counts as a refusal.
func (l *redLockLock) ask(ctx context.Context, of []Node, within time.Duration, do func(context.Context, Node) error, enough func(votes) bool) votes {
	type answer struct {
		at  int
		err error
	}
	answers := make(chan answer, len(of))
	for i, n := range of {
		l.rest.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, within)
			defer cancel()
			answers <- answer{i, do(ctx, n)}
		})
	}
	v := votes{missed: make([]error, len(of))}
	for range of {
		switch a := <-answers; {
		case a.err == nil:
			v.yes, v.left = v.yes+1, append(v.left, of[a.at])
		case errors.Is(a.err, impls.ErrBusy), errors.Is(a.err, impls.ErrNotHeld):
			v.no++
		case errors.Is(a.err, syscall.ECONNREFUSED):
			v.no++
			v.missed[a.at] = a.err
		default:
			v.left = append(v.left, of[a.at])
			v.missed[a.at] = a.err
		}
		if enough(v) {
			break
		}
	}
	return v
}

func (l *redLockLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, err
	}
	return l.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) { return l.attempt(ctx, req) })
}

// attempt requests the lock once with a new token. A late clean-up of an earlier attempt therefore cannot delete the keys
// of this attempt.
func (l *redLockLock) attempt(ctx context.Context, req impls.Request) (impls.Grant, error) {
	start, mine := time.Now(), impls.Token(l.env.Rand)
	v := l.ask(ctx, l.Nodes, perNode(req.TTL), func(ctx context.Context, n Node) error {
		return n.setNXPX(ctx, req.Key, mine, req.TTL)
	}, func(votes) bool { return false })
	// The validity is the lease minus the allowance for clock drift, counted from the start of the attempt. If the validity
	// has passed when the answers have arrived, the attempt fails.
	validity := req.TTL - lease.Drift(req.TTL)
	if v.yes >= l.majority() && time.Since(start) < validity {
		return impls.Grant{Token: mine, Validity: validity}, nil
	}
	// Delete the token from the servers that did not refuse. A server that refused does not have the token.
	cleaned := l.release(ctx, v.left, perNode(req.TTL), impls.Grant{Key: req.Key, Token: mine}, func(c votes) bool { return v.no+c.yes+c.no >= l.majority() })
	unknown := len(v.left) - v.yes
	switch {
	case len(v.left) >= l.majority() && (unknown > 0 || v.no+cleaned.yes+cleaned.no < l.majority()):
		// Late requests may still set the key on a majority of the servers, until the lease expires.
		return impls.Grant{}, fmt.Errorf("%d of %d servers granted, %d did not say: %w", v.yes, len(l.Nodes), unknown, errors.Join(v.err(), cleaned.err()))
	case v.err() != nil:
		return impls.Grant{}, fmt.Errorf("%d of %d servers granted: %w (%v)", v.yes, len(l.Nodes), impls.ErrBusy, v.err())
	}
	return impls.Grant{}, impls.ErrBusy
}

// release deletes the token from the given servers, even if ctx has ended. It returns when every server has answered or
// timed out. It returns earlier if enough(v) is true for the votes v received so far.
func (l *redLockLock) release(ctx context.Context, of []Node, within time.Duration, g impls.Grant, enough func(votes) bool) votes {
	return l.ask(context.WithoutCancel(ctx), of, within, func(ctx context.Context, n Node) error { return n.compareAndDelete(ctx, g) }, enough)
}

// Release deletes the token from all servers. It returns when a majority has answered, or when a majority has become
// impossible.
func (l *redLockLock) Release(ctx context.Context, g impls.Grant) error {
	v := l.release(ctx, l.Nodes, perNode(leaseOf(g)), g, func(v votes) bool { return v.yes >= l.majority() || l.lost(v) })
	switch {
	case v.yes >= l.majority():
		return nil
	case l.lost(v):
		return impls.ErrNotHeld
	}
	return l.unsure(v, "released")
}

// Renew extends the lease on the servers that still have the token. It does not set the key on other servers.
func (l *redLockLock) Renew(ctx context.Context, g impls.Grant) (impls.Grant, error) {
	start, ttl := time.Now(), leaseOf(g)
	v := l.ask(ctx, l.Nodes, perNode(ttl), func(ctx context.Context, n Node) error {
		return impls.Affected(compareAndPExpire.Run(ctx, n.UniversalClient, []string{n.Key(g.Key)}, g.Token, ttl.Milliseconds()).Int64())
	}, func(v votes) bool { return v.yes >= l.majority() })
	switch {
	case v.yes >= l.majority() && time.Since(start) < ttl-lease.Drift(ttl):
		g.SentAfter, g.Validity = 0, ttl-lease.Drift(ttl)
		return g, nil
	case l.lost(v):
		return g, impls.ErrNotHeld
	}
	return g, l.unsure(v, "extended")
}

// leaseOf returns the requested TTL of a grant. It calculates the TTL from the grant's Validity, which is the TTL minus
// the allowance for clock drift.
func leaseOf(g impls.Grant) time.Duration {
	return ((g.Validity + 2*time.Millisecond) * 100 / 99).Round(time.Millisecond)
}

// Close waits for pending requests to slow servers. Each request has a timeout.
func (l *redLockLock) Close() error {
	l.rest.Close()
	return l.Nodes.Close()
}
