package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"hash/fnv"
	"net/url"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"lockbench/internal/world/servers"
)

// leaseStep is the precision of the remaining times that etcd reports. etcd rounds them down to seconds.
const leaseStep = time.Second

// maxLeases is the maximum number of leases that one observation reads. Each lease takes a request.
const maxLeases = 32

// observer reads the keys of an etcd ensemble through one member.
type observer struct {
	client       *clientv3.Client
	reads, lives *atomic.Int64 // numbers of requests for keys and for leases
}

func observe(address string, _ *tls.Config) (servers.Observer, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("invalid address")
	}
	password, _ := u.User.Password()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + u.Host}, Logger: zap.NewNop(),
		DialTimeout: servers.AskTimeout, Username: u.User.Username(), Password: password})
	return observer{c, new(atomic.Int64), new(atomic.Int64)}, err
}

func (o observer) Counters() map[string]float64 {
	return map[string]float64{"calls.Range": float64(o.reads.Load()), "calls.LeaseTimeToLive": float64(o.lives.Load())}
}

func (o observer) Close() error { return o.client.Close() }

// Entries reads the keys first and then their leases. If a lease ends in the meantime, its keys are removed, and Entries
// returns an error.
func (o observer) Entries(ctx context.Context, prefix string) (all []servers.Entry, err error) {
	o.reads.Add(1)
	found, err := o.client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	leases := map[int64]time.Duration{0: servers.Unending}
	for _, kv := range found.Kvs {
		left, known := leases[kv.Lease]
		if !known {
			if len(leases) > maxLeases {
				return nil, errors.New("the keys have too many leases to be observed")
			}
			o.lives.Add(1)
			t, err := o.client.TimeToLive(ctx, clientv3.LeaseID(kv.Lease))
			switch {
			case err != nil:
				return nil, err
			case t.TTL < 0:
				return nil, errors.New("a lease has ended")
			}
			left = time.Duration(t.TTL)*time.Second + leaseStep
			leases[kv.Lease] = left
		}
		h := fnv.New64a()
		_, _ = h.Write(kv.Value)
		all = append(all, servers.Entry{Name: string(kv.Key), Hash: max(1, h.Sum64()), Left: left})
	}
	return all, nil
}
