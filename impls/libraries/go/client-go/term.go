//go:build ignore

package main

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	worker "lockbench/impls/worker/go"
)

func acquire(ctx context.Context, c client, r worker.Request) (g worker.Grant[*term], err error) {
	life, end := context.WithCancel(context.Background()) // the library renews the lease for as long as this context lives
	t := &term{end: end, over: make(chan struct{}), lock: newLock(c, r)}
	leads := make(chan context.Context, 1)
	t.LeaderElector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: t.lock, LeaseDuration: r.TTL, RenewDeadline: deadline(r.TTL), RetryPeriod: time.Second / 5, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(lead context.Context) { leads <- lead },
			OnStoppedLeading: func() { t.gone.CompareAndSwap(false, life.Err() == nil) },
			OnNewLeader: func(leader string) {
				if r.Wait == 0 && leader != t.lock.Identity() {
					end() // the library cannot try once
				}
			},
		},
	})
	if err != nil {
		return g, err
	}
	stop := context.AfterFunc(ctx, end)
	go t.lead(life)
	select {
	case lead := <-leads:
		if stop() {
			return worker.Grant[*term]{Handle: t, Validity: promised(r.TTL), Lost: lead.Done()}, nil
		}
	case <-t.over:
	}
	<-t.over
	if t.lock.doubt || t.IsLeader() {
		return g, errors.New("the candidacy ended before the answer to a request")
	}
	return g, worker.ErrBusy
}
