package decision

import (
	"fmt"
	"time"
)

// What a lease is advised by before anything was recorded: that a grant takes no longer to be read than this, and that no
// lease is shorter than a second, whatever the needs: what nobody has seen yet is longer than a short lease.
const (
	slowGrant    = 50 * time.Millisecond
	leastAdvised = time.Second
)

// AdviseTTL is the lease that is advised by what the team says alone, for locks that are renewed and for those that are not;
// 0: none does what is needed. Locks are tried with it.
func AdviseTTL(n Needs, l Lease) time.Duration {
	in := LeaseInputs{Needs: n, Option: Option{Kind: ALock, Lease: l}, Shortest: leastAdvised, Acquire: Recorded{Sample: []time.Duration{slowGrant}}}
	m := in.Model()
	needed := m.Needed()
	for _, ttl := range in.leases(max(needed, leastAdvised)) {
		if in.fits(ttl, needed) && in.inTime(LeasePoint{RecoveryMaxNS: int64(ttl)}) {
			return ttl
		}
	}
	return 0
}

// noLease says why no lease is advised.
func noLease(n Needs, l Lease) string {
	long := fmt.Sprintf("pauses of %s", Lasting(n.Pauses.Longest))
	if l == Fixed {
		long = fmt.Sprintf("work of %s and ", Lasting(n.Hold.Max)) + long
	}
	return fmt.Sprintf("no lease both outlasts %s and is over within %s of the death of a holder", long, Lasting(n.Recovery))
}

// leaseAdvice is that for the lock that is recommended, or the best one where none is needed.
func (d *deciding) leaseAdvice(r *Report) *LeaseAdvice {
	var o Option
	for _, name := range append(r.Decision.Recommended, r.Decision.Lock...) {
		if o = d.option(name); o.Kind == ALock {
			break
		}
	}
	if o.Kind != ALock {
		return nil
	}
	in := LeaseInputs{Needs: d.needs, Option: o, Shortest: max(leastAdvised, d.ttl[o.Lease]), Acquire: d.recorded(o, "acquire"), HandOff: d.handOff(o)}
	a := AdviseLease(in)
	d.confirm(a)
	return a
}

// recorded is what was recorded of an option's time.
func (d *deciding) recorded(o Option, what string) Recorded {
	for _, t := range d.Times {
		if t.Lock == o.Name && t.What == what {
			return Recorded{Sample: t.sample(), Where: t.Where, Evidence: []string{t.ID}}
		}
	}
	return Recorded{}
}

// handOff is how much later than the end of a lease the next was granted, where holders died.
func (d *deciding) handOff(o Option) Recorded {
	f, ok := d.recovery(o)
	if !ok || o.Lease != Fixed {
		return Recorded{}
	}
	r := Recorded{Where: "after the death of a holder, at a lease of " + Lasting(time.Duration(f.Point.TTLNS)), Evidence: []string{f.ID}}
	for _, multiple := range f.Estimate.Values {
		r.Sample = append(r.Sample, max(0, time.Duration((multiple-1)*float64(f.Point.TTLNS))))
	}
	return r
}
