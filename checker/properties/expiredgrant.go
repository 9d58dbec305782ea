package properties

import (
	"time"

	"lockbench/histories"
)

// expiredGrants finds grants whose promise had ended when the acquire returned. Only a lock that states that it checks the lease
// is judged. A delayed message explains no such grant, because the lock can measure the time. A pause explains it, because it may
// fall between the check and the return.
type expiredGrants struct {
	found []expiredGrant
}

type expiredGrant struct {
	op histories.Op
	by time.Duration // time from the end of the promise to the return
}

// granted handles the return of a granted acquire.
func (x *expiredGrants) granted(f *Facts, op *histories.Op) {
	until, ok := op.Until(-f.Slack)
	paused := f.pauseEnd(op.Client, op.Call) > op.Call
	if f.Header.ChecksLease && !f.Header.WaitsInside && ok && op.Return >= until && !paused {
		x.found = append(x.found, expiredGrant{*op, op.Return - until})
	}
}

// certain returns the grants that no pause of a busy machine explains.
func (x *expiredGrants) certain(f *Facts) (found []histories.Op) {
	for _, g := range x.found {
		if g.by >= 2*max(f.Stall, f.SlowestRead) {
			found = append(found, g.op)
		}
	}
	return found
}
