package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// etcdSession is a lease of etcd's, with a connection of its own. Its user keeps it alive.
type etcdSession struct {
	*clientv3.Client
	opened    time.Duration // the lease that was asked for
	lease     clientv3.LeaseID
	ttl       time.Duration // as granted, in whole seconds
	confirmed time.Time     // the sending of the last request that was answered, after which it lasts for the ttl
	fresh     bool          // nobody has used it yet
}

// Config returns how a client reaches the servers of an Env, by the network of that alone.
func Config(env impls.Env) (clientv3.Config, error) {
	servers, err := env.Servers("etcd://host:port or etcd://user:password@host:port")
	if err != nil {
		return clientv3.Config{}, err
	}
	c := clientv3.Config{Logger: zap.NewNop(), DialTimeout: waiting.CommandTimeout, Username: servers[0].User.Username()}
	c.Password, _ = servers[0].User.Password()
	for _, u := range servers {
		if fmt.Sprint(u.User) != fmt.Sprint(servers[0].User) {
			return c, errors.New("the URLs of servers that agree by majority name several users, and one is wanted")
		}
		c.Endpoints = append(c.Endpoints, "http://"+u.Host)
	}
	return c, nil
}

// openETCDSession returns when a lease was granted. The context bounds that alone.
func openETCDSession(ctx context.Context, config clientv3.Config, ttl time.Duration) (*etcdSession, error) {
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	c, err := clientv3.New(config)
	if err != nil {
		return nil, err
	}
	s := &etcdSession{Client: c, opened: ttl, confirmed: time.Now(), fresh: true}
	granted, err := c.Grant(ctx, Seconds(ttl))
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	s.lease, s.ttl = granted.ID, time.Duration(granted.TTL)*time.Second
	return s, nil
}

// Seconds returns a lease in whole seconds, rounded up.
func Seconds(ttl time.Duration) int64 { return int64((ttl + time.Second - 1) / time.Second) }

// Dial returns the option to connect by the network of an Env.
func Dial(env impls.Env) grpc.DialOption {
	dial := env.Network()
	return grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, "tcp", addr) })
}

// patientDial connects again soon, because a lease may be short. A request waits for a connection: the client library would
// repeat one that fails at once without a pause.
func patientDial(env impls.Env) []grpc.DialOption {
	return []grpc.DialOption{
		Dial(env),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second,
			Backoff: backoff.Config{BaseDelay: waiting.FirstPause, Multiplier: 2, Jitter: 0.2, MaxDelay: waiting.LongestPause}}),
	}
}

// Alive asks once if the lease was idle.
func (s *etcdSession) Alive(ctx context.Context) bool {
	if s.fresh {
		s.fresh = false
		return true
	}
	return s.keepAlive(ctx) == nil
}

func (s *etcdSession) TTL() time.Duration { return s.opened }

// keepAlive renews the lease, from now on, and gives up when it may be over. ErrNotHeld: it is.
func (s *etcdSession) keepAlive(ctx context.Context) error {
	sent := time.Now()
	ctx, cancel := context.WithDeadline(ctx, s.confirmed.Add(s.ttl))
	defer cancel()
	answer, err := s.KeepAliveOnce(ctx, s.lease)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return impls.ErrNotHeld
	case err != nil:
		return err
	}
	s.confirmed, s.ttl = sent, time.Duration(answer.TTL)*time.Second
	return nil
}

// get bounds a read by CommandTimeout.
func (s *etcdSession) get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	return s.Get(ctx, key, opts...)
}

// End revokes the lease, within a second; otherwise it ends by itself.
func (s *etcdSession) End() {
	ctx, cancel := context.WithTimeout(context.Background(), waiting.WithdrawTimeout)
	defer cancel()
	_, _ = s.Revoke(ctx, s.lease)
	_ = s.Client.Close()
}

// remove deletes a key if it is the one that was created at the revision, in one step.
func (s *etcdSession) remove(ctx context.Context, key string, revision int64) error {
	answer, err := s.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", revision), clientv3.Compare(clientv3.CreateRevision(key), ">", 0)).
		Then(clientv3.OpDelete(key)).Commit()
	if err == nil && !answer.Succeeded {
		return impls.ErrNotHeld
	}
	return err
}

// first returns the first of a queue, and what its lease has left.
func (s *etcdSession) first(ctx context.Context, queue string) (string, time.Duration, error) {
	first, err := s.Get(ctx, queue, clientv3.WithFirstCreate()...)
	if err != nil || len(first.Kvs) == 0 {
		return "", 0, err
	}
	lease, err := s.TimeToLive(ctx, clientv3.LeaseID(first.Kvs[0].Lease))
	if err != nil || lease.TTL < 0 { // it went between the two questions
		return "", 0, err
	}
	return strings.TrimPrefix(string(first.Kvs[0].Key), queue), time.Duration(lease.TTL) * time.Second, nil
}
