package properties

import "lockbench/histories"

// register holds the highest fencing token that the resource of a key has accepted. An operation is compared only with
// operations that returned before its call, because the order of concurrent operations is unknown.
type register struct {
	highest histories.Op
	before  map[int32]histories.Op // by client: the operation with the highest accepted token when the client called its outstanding operation
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

// returned handles the return of an operation. higher is an earlier operation with a higher token, or nil; if it is not
// nil, the resource should have refused this operation. counts reports whether the resource checks operations of this kind:
// reads and writes if checks is "checking", only writes if it is "checking-writes".
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
