//go:build ignore

package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseLock also records whether the outcome of a write is unknown.
type leaseLock struct {
	resourcelock.LeaseLock
	doubt bool
}

func newLock(c client, name, identity string) *leaseLock {
	return &leaseLock{LeaseLock: resourcelock.LeaseLock{LeaseMeta: meta.ObjectMeta{Namespace: "lockbench", Name: name}, Client: c,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity}}}
}

func (l *leaseLock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.noted(l.LeaseLock.Create(ctx, r))
}

func (l *leaseLock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.noted(l.LeaseLock.Update(ctx, r))
}

func (l *leaseLock) noted(err error) error {
	l.doubt = l.doubt || err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err)
	return err
}
