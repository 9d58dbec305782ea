package projection

import (
	"time"

	"lockbench/histories"
)

// ExtendByObservation makes the Projection extend a hold if an observation of the store shows a longer lease. It is
// needed for a lock that may renew without a record in the history. step is the precision of observed leases.
func (p *Projection) ExtendByObservation(step time.Duration) { p.step = step }

// handleObservation handles an observation of the store. It extends the lease of the current hold if the store still
// has the entry of the hold. An entry belongs to the hold if it was first seen before the stated lease expired. Each
// later observation must precede the end of the lease that the previous observation showed. A key with several entries
// is ignored, because it is unknown which entry is the lease.
func (p *Projection) handleObservation(k *Key, op *histories.Op) {
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
