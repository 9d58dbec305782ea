package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/impls"
)

// varied uses the lock in a different way in each iteration. The habits, durations and key of an iteration are random.
// They depend only on the seed, the client and the iteration number. Removing a habit from Params.Habits does not
// change the other random values.
func varied() Workload {
	return Workload{
		Name: "varied", Special: true, Guarded: true, Varied: true,
		Doc:     "each iteration uses the lock differently: tries, long holds, renewals, mistaken releases; for explore, and if named",
		Iterate: func(ctx context.Context, c *Client) { c.vary(ctx, c.drawUse()) },
	}
}

// use describes one iteration of the workload varied.
type use struct {
	does         [habitCount]bool
	key          string
	tries        int
	gap          time.Duration // delay between two tries
	wait         time.Duration
	idle         time.Duration
	lease, inner time.Duration // leases of the hold and of a nested acquire
	hold, long   time.Duration // hold: duration of work within a lease; long: duration of work that may exceed a lease
}

// Limits of the random values of an iteration, and how often a habit is followed.
const (
	habitOdds   = 3 // on average, one of this many iterations follows a given habit
	mostTries   = 8
	longestGap  = 60 * time.Millisecond // longest delay between two tries; it is so short that the judge still counts the client as waiting
	leastLease  = 30                    // shortest lease that an iteration requests, in per cent of Params.TTL
	leastInner  = 10                    // the same for a nested acquire, whose lease may be much shorter than that of the hold
	mostLeases  = 4                     // maximum length of a hold in leases
	shortestTTL = 10 * time.Millisecond

	firstLater    = LetsExpire           // first of the newer habits; these are drawn last, so that older cases keep their random values
	renewalJitter = 5 * time.Millisecond // maximum deviation from the usual time of a renewal

	mostPrefixes = 100 // maximum length in digits of an owner name that is a prefix of other names
)

// LeastLease returns the shortest lease that clients request for a hold. A nested acquire may request a shorter one.
func (w Workload) LeastLease(l impls.Impl, p Params) time.Duration {
	if !w.Varied || !slices.Contains(p.Follows(HabitsOf(l)), VariesLease) {
		return p.TTL
	}
	return leaseOf(p.TTL, leastLease)
}

// LeastGrant returns the shortest lease that a grant may promise, or 0 if that is unknown.
func (w Workload) LeastGrant(l impls.Impl, p Params) time.Duration {
	if l.Program != nil {
		return 0 // a library may deduct a margin from the requested lease
	}
	return w.LeastLease(l, p) * time.Duration(cmp.Or(l.FirstLease, 100)) / 100
}

// leaseOf returns a part of a lease, in per cent.
func leaseOf(ttl time.Duration, percent int) time.Duration {
	return max(ttl*time.Duration(percent)/100, shortestTTL).Truncate(time.Millisecond)
}

// drawUse returns the random values of an iteration. It draws a random number for every habit, even for habits that
// clients do not follow.
func (c *Client) drawUse() use {
	r, ttl := c.rand, c.Params.TTL
	u := use{key: c.Key()}
	for h := range firstLater {
		u.does[h] = r.IntN(habitOdds) == 0 && c.habits[h]
	}
	between := func(low, high time.Duration) time.Duration {
		return (low + time.Duration(r.Int64N(int64(high-low)+1))).Truncate(time.Microsecond)
	}
	u.tries, u.gap = 1+r.IntN(mostTries), between(time.Millisecond, longestGap)
	u.wait, u.idle = between(ttl/20, between(ttl/20, 2*ttl)), between(0, 2*ttl) // the nested calls of between make short waits more likely
	part := func(least int) time.Duration { return leaseOf(ttl, least+r.IntN(101-least)) }
	u.lease, u.inner = part(leastLease), part(leastInner)
	if !u.does[VariesLease] {
		u.lease, u.inner = ttl, ttl
	}
	share := r.Float64()
	u.long = between(ttl, mostLeases*ttl)
	u.hold = time.Duration(share * float64(c.Params.Hold) * float64(u.lease) / float64(ttl)).Truncate(time.Microsecond)
	if r.IntN(habitOdds*habitOdds) == 0 {
		u.hold = 0
	}
	for h := firstLater; h < HoldsTwo; h++ {
		u.does[h] = r.IntN(habitOdds) == 0 && c.habits[h]
	}
	thirds, jitter := time.Duration(1+r.IntN(2)), between(-renewalJitter, renewalJitter)
	if u.does[MeetsRenewals] {
		u.hold = max(thirds*min(u.lease, u.inner)/3+jitter, 0)
		u.long = u.long/(ttl/6)*(ttl/6) + jitter
	}
	u.does[HoldsTwo] = c.habits[HoldsTwo] && len(c.keys) > 1 && r.IntN(habitOdds) == 0
	return u
}

// vary runs one iteration.
func (c *Client) vary(ctx context.Context, u use) {
	again := c.rereleases
	c.lease, c.rereleases = u.lease, again || u.does[RepeatsRelease]
	defer func() { c.lease, c.rereleases = 0, again }()
	if u.does[Idles] {
		c.Sleep(ctx, u.idle)
	}
	h, ok := c.acquireAs(ctx, u)
	if !ok {
		return
	}
	value, ok := c.Read(ctx, h)
	if !c.reacquire(ctx, &h, u) {
		u.does[ReleasesTwice], u.does[ReleasesEarlier] = false, false
	}
	if ok && c.spend(ctx, &h, u) {
		c.Write(ctx, h, value+1)
	}
	c.releaseOrExpire(ctx, h, u)
}

// acquireAs acquires the key in the way that u describes: by waiting, or by trying in a loop.
func (c *Client) acquireAs(ctx context.Context, u use) (h Held, ok bool) {
	if !u.does[Tries] {
		return c.Acquire(ctx, u.key, c.waitOf(u))
	}
	for range u.tries {
		if h, ok = c.Acquire(ctx, u.key, 0); ok || c.gone || c.done || ctx.Err() != nil {
			break
		}
		c.Sleep(ctx, u.gap)
	}
	return h, ok
}

func (c *Client) waitOf(u use) time.Duration {
	if u.does[TimesOut] {
		return u.wait
	}
	return c.Params.wait()
}

// reacquire acquires the key again, or another key, during the hold h, as the habits Nests, TriesHeld and HoldsTwo require. It returns false if a
// nested acquire or release has an unknown outcome. The lock may then rightly accept one more release.
func (c *Client) reacquire(ctx context.Context, h *Held, u use) (known bool) {
	known = true
	if u.does[Nests] {
		life := c.log.Life()
		c.lease = u.inner
		c.hold(ctx, u.key, 0, func(ctx context.Context, _ *Held) {
			if c.lease = u.lease; u.does[NestsDeeply] {
				c.hold(ctx, u.key, 0, func(context.Context, *Held) {})
			}
		})
		c.lease = u.lease
		known = c.log.Life() == life
		c.Probe(ctx, *h)
	}
	if u.does[HoldsTwo] { // a try cannot deadlock
		other := c.keys[(slices.Index(c.keys, u.key)+1)%len(c.keys)]
		c.first = h
		c.hold(ctx, other, 0, func(ctx context.Context, h *Held) { c.Work(ctx, h, u.hold/4) })
		c.first = nil
	}
	if u.does[TriesHeld] {
		owner := c.owner()
		c.log.NewLife() // if the lock wrongly grants the try, the history shows a grant to another client
		c.name, c.named = owner, c.log.Life()+1
		c.hold(ctx, u.key, 0, func(context.Context, *Held) {})
	}
	return known
}

// spend works for the duration of the hold. With the habit Renews, it also renews the hold. It returns false if the
// client has stopped, or may have lost the hold.
func (c *Client) spend(ctx context.Context, h *Held, u use) bool {
	d := u.hold
	renews := u.does[Renews] && h.Validity > 0
	if u.does[HoldsLong] && (renews || c.renews || h.Validity == impls.Unbounded) {
		d = u.long
	}
	if !renews {
		return c.Work(ctx, h, d)
	}
	for ctx.Err() == nil {
		part := min(d, h.Validity/3)
		if !c.Work(ctx, h, part) {
			return false
		}
		if d -= part; d <= 0 {
			return true
		}
		if !c.Renew(ctx, h) {
			return false
		}
	}
	return false
}

// Renew renews a hold and records the result. If less than half of the lease is left, it sends no request, because the
// judge would count a late renewal as a violation by the lock. It returns false if the hold was not renewed.
func (c *Client) Renew(ctx context.Context, h *Held) bool {
	renewer, ok := c.Lock.(impls.Renewer)
	call := c.recorder.Since()
	if left := h.leased + h.SentAfter + h.Validity - call; !ok || c.gone || left < h.Validity/2 {
		return false
	}
	var g impls.Grant
	err := c.calling(func() (err error) {
		g, err = renewer.Renew(ctx, h.Grant)
		return err
	})
	op := histories.Op{Kind: histories.Renew, Hold: h.number, Key: h.Key, Call: call}
	switch {
	case err == nil:
		op.Outcome, op.SentAfter, op.Validity = histories.OK, g.SentAfter, g.Validity
		h.Grant, h.leased = g, call
	case errors.Is(err, impls.ErrNotHeld):
		op.Outcome, op.Error = histories.Refused, err.Error()
	default:
		op.Error = err.Error()
	}
	c.log.Note(op)
	c.handleError(err)
	return err == nil
}

// releaseOrExpire releases the hold or lets it expire. It also makes the mistaken releases that the habits of the
// iteration require.
func (c *Client) releaseOrExpire(ctx context.Context, h Held, u use) {
	if u.does[LetsExpire] && h.Validity > 0 && !c.gone {
		c.Lost(&h)
		c.Sleep(ctx, u.idle/2+c.expiry(h))
		return
	}
	if u.does[ReleasesLate] && h.Validity > 0 {
		c.Lost(&h)
		c.Sleep(ctx, c.expiry(h))
	}
	outcome := c.Release(ctx, h)
	if outcome == histories.Unknown && c.rereleases {
		c.Sleep(ctx, u.gap) // without a request for the key, so that an observation shows what the repeated release left
	}
	if outcome != histories.OK || c.gone || ctx.Err() != nil {
		return
	}
	if u.does[ReleasesTwice] {
		outcome = c.Release(ctx, h)
	}
	if !u.does[ReleasesEarlier] || outcome == histories.Unknown {
		return
	}
	c.hold(ctx, u.key, c.waitOf(u), func(ctx context.Context, later *Held) {
		if later.Token != "" && (later.Token != h.Token || c.unique) { // with the same token, a re-entrant lock would rightly end the later hold
			c.Release(ctx, h)
		}
		c.Work(ctx, later, u.gap)
	})
}

// expiry returns a duration after which the lease of a hold has certainly expired.
func (c *Client) expiry(h Held) time.Duration {
	return max(h.Validity, c.Params.TTL)*11/10 + 20*time.Millisecond
}

// ownerName returns an owner name of the client. The argument life is the client's number of unknown outcomes. Each
// combination of client and life has a different name. With the habit NamesLocally, this is true only within a process.
func (c *Client) ownerName(life int32) string {
	plain := fmt.Sprintf("c%d.%d", c.number, life)
	if c.habits[NamesLocally] {
		plain = fmt.Sprintf("t%d.%d", int(c.number)/c.Params.Processes, life)
	}
	if !c.habits[NamesOddly] {
		return plain
	}
	var source rand.PCG
	source.Seed(c.Params.Seed, uint64(c.number)<<32|uint64(life))
	switch rand.New(&source).IntN(6) {
	case 0: // each name is a prefix of the next
		if n := int(life)*c.Params.Logs() + int(c.number) + 1; n <= mostPrefixes {
			return "c" + strings.Repeat("1", n)
		}
	case 1:
		return "owner " + strings.ReplaceAll(plain, ".", " ")
	case 2:
		return `{c}:*"'\%s[0-9]` + plain
	case 3:
		return strings.Repeat("x", 200) + plain
	case 4:
		return "Schlüssel-ключ-鍵-" + plain
	}
	return plain
}
