package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/children"
	"lockbench/internal/servers"
	"lockbench/internal/workers"
)

const hintWorker = "docs/worker-protocol.md tells what a worker reads and writes; lockbench worker is one"

// describeWorker starts the user's program once, on servers of its own, to learn what it says of itself.
func (f *runFlags) describeWorker(ctx context.Context) (impls.Impl, error) {
	own := impls.Impl{Store: servers.Redis, Deployment: f.deployment, Worker: []string{"/bin/sh", "-c", "exec " + f.worker}}
	g, err := servers.Start(ctx, servers.Spec{How: f.servers, Store: servers.Redis, Deployment: f.deployment, Remote: f.remote})
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
