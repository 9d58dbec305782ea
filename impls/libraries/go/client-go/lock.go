//go:build ignore

package main

import (
	"context"
	"encoding/hex"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	worker "lockbench/impls/worker/go"
)

// leaseLock also records the writes of a candidate.
type leaseLock struct {
	resourcelock.LeaseLock
	request worker.Request
	granted bool // whether a write has succeeded
	doubt   bool // whether the outcome of a write is unknown
	refused bool // whether the write of the release was refused, because it met a renewal
}

func newLock(c client, r worker.Request) *leaseLock {
	return &leaseLock{request: r, LeaseLock: resourcelock.LeaseLock{Client: c,
		LeaseMeta:  meta.ObjectMeta{Namespace: "lockbench", Name: hex.EncodeToString([]byte(r.Key))},
		LockConfig: resourcelock.ResourceLockConfig{Identity: string(uuid.NewUUID())}}}
}

func (l *leaseLock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.noted(time.Now(), r, l.LeaseLock.Create(ctx, r))
}

func (l *leaseLock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.noted(time.Now(), r, l.LeaseLock.Update(ctx, r))
}

func (l *leaseLock) noted(sent time.Time, r resourcelock.LeaderElectionRecord, err error) error {
	switch {
	case r.HolderIdentity == "":
		l.refused = apierrors.IsConflict(err)
	case l.granted:
		l.request.Renewed(sent, promised(l.request.TTL), err)
	}
	l.granted = l.granted || err == nil
	l.doubt = l.doubt || err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err)
	return err
}
