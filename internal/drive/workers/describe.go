package workers

import (
	"context"

	"lockbench/impls/worker"
	"lockbench/internal/world/children"
)

// Describe starts a worker process to read the description of its lock. A worker of protocol version 1 does not know
// this request. It may fail, or reply as if it were asked to open the lock.
func Describe(ctx context.Context, k *children.Keeper, command []string, params map[string]string) (worker.Ready, error) {
	b := usualBounds()
	b.ready = describedIn
	p, err := startWithin(ctx, b, k, command, worker.Open{Describe: true, Nodes: []string{}, Params: params}, nil, nil)
	if err != nil {
		return p.Ready, err
	}
	return p.Ready, p.Close()
}
