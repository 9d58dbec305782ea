package properties

import "lockbench/histories"

// register holds the highest token that a key's resource has seen. An operation is compared with those that returned before
// its call; the order of concurrent operations is unknown.
type register struct {
	highest histories.Op
	before  map[int32]histories.Op // by client: the highest at the call of its operation
}

func (r *register) called(op *histories.Op) {
	if r.highest.Fence == 0 {
		return
	}
	if r.before == nil {
		r.before = map[int32]histories.Op{}
	}
	r.before[op.Client] = r.highest
}

// returned handles an acknowledged operation. It returns the earlier operation with a higher token, which should have
// excluded this one. counts reports whether the resource checks this kind of operation: with "checking" reads and writes,
// with "checking-writes" writes only.
func (r *register) returned(op *histories.Op, checks string) (higher *histories.Op, counts bool) {
	before := r.before[op.Client]
	delete(r.before, op.Client)
	switch {
	case op.Outcome != histories.OK || op.Fence <= 0 || op.Client == histories.Harness:
		return nil, false
	case op.Kind == histories.Write && (checks == "checking" || checks == "checking-writes"):
	case op.Kind == histories.Read && checks == "checking":
	default:
		return nil, false
	}
	if op.Fence > r.highest.Fence {
		r.highest = *op
	}
	if before.Fence > op.Fence {
		return &before, true
	}
	return nil, true
}
