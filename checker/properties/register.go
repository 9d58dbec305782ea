package properties

import "lockbench/histories"

// register models a resource that checks fencing tokens. For each operation, it finds the highest token among the
// operations that returned before the operation was called. It does not compare concurrent operations, because their
// order is unknown.
type register struct {
	highest histories.Op
	before  map[int32]histories.Op // by client: operation with the highest token that had returned when the client's outstanding operation was called
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

// handleReturn handles the return of op. If the resource should have refused op, the first result is an earlier
// operation with a higher token. Otherwise the first result is nil. The second result reports whether the resource had
// to check the token of op.
//
// The parameter checks is the mode of the resource. In the mode "checking", the resource checks the tokens of reads and
// writes. In the mode "checking-writes", the resource checks only the tokens of writes.
func (r *register) handleReturn(op *histories.Op, checks string) (higher *histories.Op, counts bool) {
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
