package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/workers"
	"lockbench/internal/suggest"
	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

const hintWorker = "docs/worker-protocol.md tells what a worker reads and writes; lockbench worker is one"

// describeWorker starts the user's program once, on servers of its own, to learn what it says of itself.
func (f *runFlags) describeWorker(ctx context.Context) (impls.Impl, error) {
	own := impls.Impl{Store: servers.Redis, Deployment: f.deployment, Worker: []string{"/bin/sh", "-c", "exec " + f.worker}}
	g, err := stores.Start(ctx, servers.Spec{How: f.servers, Store: servers.Redis, Deployment: f.deployment, Remote: f.remote})
	if err != nil {
		return own, environment(err, "the worker needs servers to work on")
	}
	ready, err := describe(ctx, own.Worker, worker.Open{Nodes: g.Front(), CAFile: f.remote.CAFile, Prefix: servers.KeyPrefix("describe"), Params: f.lockParams})
	if err = errors.Join(err, g.Stop()); err != nil {
		return own, environment(err, hintWorker)
	}
	can := map[string]bool{}
	for _, c := range ready.Capabilities {
		can[c] = true
	}
	if err := checkReady(ready); err != nil {
		return own, environment(fmt.Errorf("the worker %s: %w", ready.Name, err), hintWorker)
	}
	own.Name, own.Doc = ready.Name, ready.Doc
	own.Reentrant, own.Renews, own.Fences = can[worker.CanReenter], can[worker.CanRenewSelf], can[worker.CanFence]
	own.BackOff = time.Duration(ready.BackOffMS) * time.Millisecond
	for _, e := range ready.Expect {
		if e.Fault == "" {
			e.Fault = "none"
		}
		own.Expect = append(own.Expect, impls.Expectation{Property: e.Property, Workload: e.Workload, Fault: e.Fault, Verdict: e.Verdict, Because: e.Because})
	}
	return own, nil
}

// checkReady holds the names that a worker uses to the tables: one that is misspelt would never be looked at.
func checkReady(r worker.Ready) error {
	if _, err := lockNamed(r.Name); err == nil {
		return errors.New("a lock of lockbench has that name already")
	}
	for _, e := range r.Expect {
		for _, n := range []struct {
			what, name string
			known      []string
		}{
			{"property", e.Property, propertyNames()},
			{"fault", cmp.Or(e.Fault, faults.None().Name), faultNames()},
			{"workload", cmp.Or(e.Workload, "counter"), workloadNames()},
		} {
			if slices.Contains(n.known, n.name) {
				continue
			}
			err := fmt.Errorf("its first line expects something of the %s %q, which is unknown", n.what, n.name)
			if near, ok := suggest.Nearest(n.name, n.known); ok {
				err = fmt.Errorf("%w: did you mean %s?", err, near)
			}
			return err
		}
	}
	return nil
}

func propertyNames() []string {
	return names(checker.Properties(), func(p checker.Property) string { return p.Name })
}

func faultNames() []string { return names(faults.All(), func(f faults.Fault) string { return f.Name }) }

func workloadNames() []string {
	return names(workloads.All(), func(w workloads.Workload) string { return w.Name })
}

func names[T any](all []T, name func(T) string) []string {
	var out []string
	for _, one := range all {
		out = append(out, name(one))
	}
	return out
}

func describe(ctx context.Context, command []string, open worker.Open) (ready worker.Ready, err error) {
	k, err := children.New()
	if err != nil {
		return ready, err
	}
	p, err := workers.Start(ctx, k, command, open, nil)
	if err != nil {
		return ready, errors.Join(err, k.Close())
	}
	ready = p.Ready
	if err := errors.Join(p.Close(), k.Close()); err != nil {
		return ready, fmt.Errorf("the worker %s: %w", ready.Name, err)
	}
	return ready, nil
}
