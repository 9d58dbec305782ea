package explore

import (
	"context"
	"fmt"
	"os"
	"slices"

	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// preflight returns an error if a store cannot be used. It is called before the search begins. It starts a server of
// each store once, but only contacts external servers.
func preflight(ctx context.Context, subjects []explore.Subject, on choice.Servers) error {
	if on.How == servers.External {
		if err := on.Reach(ctx); err != nil {
			return interruptedOr(ctx, err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return console.Environment(err, "some servers are this program itself")
	}
	var tried []string
	for _, s := range subjects {
		lock, err := choice.Locks.One(s.Lock)
		if err != nil {
			return err
		}
		spec := servers.Spec{How: on.How, Store: lock.Store, Deployment: lock.Deployment, Remote: on.Remote, Self: self}
		if spec.Store == "" || slices.Contains(tried, spec.Store) {
			continue
		}
		tried = append(tried, spec.Store)
		if err := stores.Supported(spec); err != nil {
			return console.Environment(fmt.Errorf("start servers of %s: %w", s.Lock, err), hintStore(spec.Store))
		}
		if on.How == servers.External {
			continue
		}
		g, err := stores.Start(ctx, spec)
		if err == nil {
			err = g.Stop()
		}
		if err != nil {
			return interruptedOr(ctx, console.Environment(err, hintStore(spec.Store)))
		}
	}
	return nil
}

// hintStore returns the hint for a store that cannot be started.
func hintStore(store string) string {
	const hint = "without --servers locks on Redis run in simulation"
	if provide := stores.Provide(store); provide != "" {
		return provide + "; " + hint
	}
	return hint
}

// interruptedOr returns err. If ctx has ended, it returns an error with the exit code for an interrupt instead.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &console.Exit{Code: console.ExitInterrupted}
	}
	return err
}
