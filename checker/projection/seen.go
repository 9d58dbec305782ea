package projection

import (
	"time"

	"lockbench/histories"
)

// ExtendByObservation makes the Projection extend holds by observations of the store, for a lock that may renew without a
// record in the history. step is the precision of observed leases.
func (p *Projection) ExtendByObservation(step time.Duration) { p.step = step }

// seen extends the lease of a hold if the store still has the same entry for the key. The entry belongs to the hold because
// it was first seen while the stated lease lasted, and at each later observation the lease seen before had not expired. A
// key with several entries is not considered, because it is unknown which of them is the lease.
func (p *Projection) seen(k *Key, op *histories.Op) {
	if p.step == 0 || len(k.Live) != 1 {
		return
	}
	h := k.Live[0]
	if !h.Promised || op.Call < h.Granted || op.Depth > 1 || op.Validity == histories.Unbounded {
		return
	}
	switch {
	case op.Depth == 0:
		if h.observed != nil && h.Vanished == 0 {
			h.Vanished = op.Return
		}
		return
	case op.Return > h.Until:
		h.Vanished = 0
		return
	case h.observed == nil:
		first := *op
		h.observed = &first
	case h.observed.Value != op.Value || h.observed.Fence != op.Fence:
		return
	}
	h.Vanished = 0
	if until := op.Call + op.Validity - p.step - p.slack; until > h.Until {
		h.Until = until
		p.tell(k, h, Extended)
	}
}
