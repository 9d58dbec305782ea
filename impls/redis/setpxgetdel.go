package redis

import (
	"context"
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// SetPXGetDel gives each grant a token and compares it in the client before it deletes. Its defect: the
// comparison and the deletion are two steps, and the key may become another's between them.
func SetPXGetDel() impls.Impl {
	return impls.Impl{
		Name: "set-px-getdel", Control: true, Store: "redis", Deployment: "single", BackOff: waiting.LongestPause, TwoStepRelease: true,
		Doc: "SET NX PX with a random token, released by GET, a comparison in the client, and DEL",
		Expect: slices.Concat(
			expect.Excludes("SET NX is atomic, and no hold of this workload outlives its lease"),
			expect.Holds("every holder deletes its key, and what is forgotten expires", "no-orphan", "progress"),
			expect.LateHolder("holder-stall"),
			expect.Under("delayed-release pause-in-release", expect.Violated("the lease ends between GET and DEL, and DEL deletes the next one's key",
				"lease-exclusion", "mutual-exclusion")),
			expect.In("misuse", expect.Holds("who does not have the token does not get as far as DEL", "owner-release")),
			expect.In("long-hold",
				expect.LeaseRunsOut(),
				expect.Observed("it takes a lease that ends between GET and DEL, and without a delay that is rare", "lease-exclusion"))),
		Open: openSimple(single.setToken, single.getThenDelete),
	}
}

func (s single) getThenDelete(ctx context.Context, g impls.Grant) error {
	return s.getDel(ctx, g.Key, g.Token)
}

// getDel deletes a key in two steps if it bears the token: what GET saw may not be what DEL deletes.
func (n Node) getDel(ctx context.Context, key, token string) error {
	value, err := n.value(ctx, key)
	switch {
	case err != nil:
		return err
	case value != token:
		return impls.ErrNotHeld
	}
	return n.del(ctx, key)
}
