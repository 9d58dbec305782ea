package impls

import (
	"context"
	"errors"
	"net"
	"net/url"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// etcdSession is a lease of etcd's, with a connection of its own: one hold's alone. Who uses it keeps it alive.
type etcdSession struct {
	*clientv3.Client
	opened    time.Duration // the lease that was asked for
	lease     clientv3.LeaseID
	ttl       time.Duration // as granted, in whole seconds
	confirmed time.Time     // the sending of the last request that was answered, after which it lasts for the ttl
	fresh     bool          // nobody has used it yet
}

var _ session = (*etcdSession)(nil)

// etcdServers are where the servers of an Env are, and who asks them.
type etcdServers struct {
	endpoints      []string
	user, password string // "": nobody in particular
}

// etcdOf reads the URLs of an Env. Its errors quote nothing of them: they may have a password.
func etcdOf(env Env) (etcdServers, error) {
	var all etcdServers
	for i, node := range env.Nodes {
		u, err := url.Parse(node)
		if err != nil || u.Scheme != "etcd" || u.Port() == "" {
			return etcdServers{}, errors.New("the URL of a server cannot be read: want etcd://host:port or etcd://user:password@host:port")
		}
		user := u.User.Username()
		password, _ := u.User.Password()
		switch {
		case i == 0:
			all.user, all.password = user, password
		case user != all.user || password != all.password:
			return etcdServers{}, errors.New("the URLs of servers that agree by majority name several users, and one is wanted")
		}
		all.endpoints = append(all.endpoints, "http://"+u.Host)
	}
	if len(all.endpoints) == 0 {
		return etcdServers{}, errors.New("want at least 1 server, got 0")
	}
	return all, nil
}

// openETCDSession returns when a lease was granted. The context bounds that alone.
func openETCDSession(ctx context.Context, env Env, at etcdServers, ttl time.Duration) (*etcdSession, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	c, err := clientv3.New(clientv3.Config{Endpoints: at.endpoints, Username: at.user, Password: at.password,
		Logger: zap.NewNop(), DialTimeout: commandTimeout, DialOptions: etcdDial(env)})
	if err != nil {
		return nil, err
	}
	s := &etcdSession{Client: c, opened: ttl, confirmed: time.Now(), fresh: true}
	granted, err := c.Grant(ctx, int64((ttl+time.Second-1)/time.Second))
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	s.lease, s.ttl = granted.ID, time.Duration(granted.TTL)*time.Second
	return s, nil
}

// etcdDial connects by the network of the Env, and again soon: a lease may be short. What is asked waits for a
// connection rather than failing at once, which the client library would repeat without a pause.
func etcdDial(env Env) []grpc.DialOption {
	by := env.Dial
	if by == nil {
		by = new(net.Dialer).DialContext
	}
	unary := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(ctx, method, req, reply, cc, append(opts, grpc.WaitForReady(true))...)
	}
	stream := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		return open(ctx, desc, cc, method, append(opts, grpc.WaitForReady(true))...)
	}
	return []grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return by(ctx, "tcp", addr) }),
		grpc.WithChainUnaryInterceptor(unary), grpc.WithChainStreamInterceptor(stream),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second,
			Backoff: backoff.Config{BaseDelay: firstPause, Multiplier: 2, Jitter: 0.2, MaxDelay: longestPause}}),
	}
}

// alive asks once where the lease has waited.
func (s *etcdSession) alive(ctx context.Context) bool {
	if s.fresh {
		s.fresh = false
		return true
	}
	return s.keepAlive(ctx) == nil
}

func (s *etcdSession) lasts() time.Duration { return s.ttl }

func (s *etcdSession) asked() time.Duration { return s.opened }

func (s *etcdSession) gone() <-chan struct{} { return nil }

// keepAlive has the lease last anew, counted from now on. ErrNotHeld: it is over. It gives up when it may be.
func (s *etcdSession) keepAlive(ctx context.Context) error {
	sent := time.Now()
	ctx, cancel := context.WithDeadline(ctx, s.confirmed.Add(s.ttl))
	defer cancel()
	answer, err := s.KeepAliveOnce(ctx, s.lease)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return ErrNotHeld
	case err != nil:
		return err
	}
	s.confirmed, s.ttl = sent, time.Duration(answer.TTL)*time.Second
	return nil
}

// get reads, for as long as a command may take.
func (s *etcdSession) get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	return s.Get(ctx, key, opts...)
}

// end asks for the end of the lease, for a second at most, which ends when its time is over where that is not heard.
func (s *etcdSession) end() {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawWithin)
	defer cancel()
	_, _ = s.Revoke(ctx, s.lease)
	_ = s.Client.Close()
}
