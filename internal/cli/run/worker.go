package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/workers"
	"lockbench/internal/suggest"
	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

const hintWorker = "docs/reference/worker-protocol.md describes what a worker reads and writes; lockbench worker is one"

// describeWorker starts the user's worker once, on new servers. It returns the lock that the first line of the worker's
// output describes.
func (f *flags) describeWorker(ctx context.Context) (impls.Impl, error) {
	own := impls.Impl{Store: servers.Redis, Deployment: f.deployment, Worker: []string{"/bin/sh", "-c", "exec " + f.worker}}
	g, err := stores.Start(ctx, servers.Spec{How: f.servers.How, Store: servers.Redis, Deployment: f.deployment, Remote: f.servers.Remote})
	if err != nil {
		return own, console.Environment(err, "the worker needs servers to work on")
	}
	ready, err := describe(ctx, own.Worker, worker.Open{Nodes: g.Front(), CAFile: f.servers.Remote.CAFile, Prefix: servers.KeyPrefix("describe"), Params: f.lockParams})
	if err = errors.Join(err, g.Stop()); err != nil {
		return own, console.Environment(err, hintWorker)
	}
	if err := checkReady(ready); err != nil {
		return own, console.Environment(fmt.Errorf("the worker %s: %w", ready.Name, err), hintWorker)
	}
	can := func(capability string) bool { return slices.Contains(ready.Capabilities, capability) }
	own.Name, own.Doc = ready.Name, ready.Doc
	own.Reentrant, own.Renews, own.Fences = can(worker.CanReenter), can(worker.CanRenewSelf), can(worker.CanFence)
	own.BackOff = time.Duration(ready.BackOffMS) * time.Millisecond
	own.Expect, err = expectations(ready.Expectations)
	return own, err
}

func expectations(all []worker.Expectation) (into []impls.Expectation, err error) {
	for _, e := range all {
		one, err := e.OfLock()
		if err != nil {
			return nil, err
		}
		into = append(into, one)
	}
	return into, nil
}

// checkReady returns an error if the first line of a worker's output contains an unknown name. An expectation with a misspelt
// name would never be checked.
func checkReady(r worker.Ready) error {
	if slices.Contains(choice.Locks.Names(), r.Name) {
		return errors.New("a lock of lockbench has that name already")
	}
	for _, e := range r.Expectations {
		e.Fault, e.Workload = cmp.Or(e.Fault, faults.None().Name), cmp.Or(e.Workload, "counter")
		for _, n := range []struct {
			field, text string
			known       []string
		}{
			{"property", e.Property, choice.Properties.Names()}, {"fault", e.Fault, choice.Faults.Names()},
			{"workload", e.Workload, choice.Workloads.Names()},
		} {
			if !slices.Contains(n.known, n.text) {
				return fmt.Errorf("an expectation in its first line has the unknown %s %q%s", n.field, n.text, suggest.Meant(n.text, n.known))
			}
		}
	}
	return nil
}

func describe(ctx context.Context, command []string, open worker.Open) (ready worker.Ready, err error) {
	k, err := children.New()
	if err != nil {
		return ready, err
	}
	p, err := workers.Start(ctx, k, command, open, nil)
	if err == nil {
		if ready, err = p.Ready, p.Close(); err != nil {
			err = fmt.Errorf("the worker %s: %w", ready.Name, err)
		}
	}
	return ready, errors.Join(err, k.Close())
}
