package measure

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver pgx
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/zap"

	"lockbench/impls/zookeeper"
	"lockbench/internal/measure/spread"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/servers/kubernetes"
)

// network is a dialer for locks. It counts round trips and bytes, and can delay each answer.
type network struct {
	delay      time.Duration // time by which each answer is delayed
	roundTrips atomic.Int64
	bytes      atomic.Int64
}

// Delayed returns a dialer that delays each answer of a server.
func Delayed(delay time.Duration) spread.Dialer { return (&network{delay: delay}).dial }

func (n *network) dial(ctx context.Context, kind, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, kind, addr)
	if err != nil {
		return nil, err
	}
	return &countingConn{Conn: conn, of: n}, nil
}

// countingConn counts round trips. A round trip is one or more writes followed by a read.
type countingConn struct {
	net.Conn
	of      *network
	pending atomic.Bool // whether there was a write since the last read
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.pending.Store(true)
	n, err := c.Conn.Write(p)
	c.of.bytes.Add(int64(n))
	return n, err
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.of.bytes.Add(int64(n))
	if c.pending.Swap(false) {
		c.of.roundTrips.Add(1)
		c.of.holdUp()
	}
	return n, err
}

// oversleep is the assumed maximum time by which time.Sleep sleeps too long.
const oversleep = time.Millisecond

// holdUp waits for the configured delay with microsecond precision. Near the end it spins, because a sleep is too
// imprecise.
func (n *network) holdUp() {
	if n.delay == 0 {
		return
	}
	end := time.Now().Add(n.delay)
	time.Sleep(n.delay - oversleep)
	for time.Now().Before(end) {
		runtime.Gosched()
	}
}

// SyscallConn lets client libraries check whether the server closed an idle connection.
func (c *countingConn) SyscallConn() (syscall.RawConn, error) {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, net.ErrClosed
	}
	return s.SyscallConn()
}

// pinger sends a store its simplest command, which needs one round trip.
type pinger struct {
	ask   func(context.Context) error
	close func()
}

// askWithin is the timeout of a ping.
const askWithin = 5 * time.Second

// errURL is the error for an invalid URL. It does not contain the URL, which may contain a password.
var errURL = errors.New("parse the URL of a server: wrong format")

func openPinger(store string, front []string) (pinger, error) {
	open, known := map[string]func(front []string) (pinger, error){
		servers.Redis: pingRedis, servers.MySQL: pingMySQL, servers.Postgres: pingPostgres, servers.MongoDB: pingMongo,
		servers.FerretDB: pingMongo, servers.ZooKeeper: pingZooKeeper, servers.Etcd: pingEtcd,
		servers.Kubernetes: pingKubernetes,
	}[store]
	if !known {
		return pinger{}, fmt.Errorf("ping %s: unknown store", store)
	}
	return open(front)
}

func hosts(front []string) []string {
	var all []string
	for _, at := range front {
		if _, host, ok := strings.Cut(at, "://"); ok {
			at = host
		}
		all = append(all, at)
	}
	return all
}

func pingRedis(front []string) (pinger, error) {
	opts, err := redis.ParseURL(front[0])
	if err != nil {
		return pinger{}, errURL
	}
	c := redis.NewClient(opts)
	return pinger{func(ctx context.Context) error { return c.Ping(ctx).Err() }, func() { _ = c.Close() }}, nil
}

func pingMySQL(front []string) (pinger, error) {
	u, err := url.Parse(front[0])
	if err != nil {
		return pinger{}, errURL
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.DBName = "tcp", u.Host, u.User.Username(), strings.TrimPrefix(u.Path, "/")
	c.Passwd, _ = u.User.Password()
	return pingDatabase("mysql", c.FormatDSN())
}

func pingPostgres(front []string) (pinger, error) { return pingDatabase("pgx", front[0]) }

// pingDatabase returns a pinger of a database, which uses a single connection.
func pingDatabase(driver, at string) (pinger, error) {
	db, err := sql.Open(driver, at)
	if err != nil {
		return pinger{}, errURL
	}
	db.SetMaxOpenConns(1)
	return pinger{db.PingContext, func() { _ = db.Close() }}, nil
}

func pingKubernetes(front []string) (pinger, error) {
	c := kubernetes.NewClient()
	ask := func(ctx context.Context) error { _, err := c.Status(ctx, hosts(front)[0]); return err }
	return pinger{ask, c.Close}, nil
}

func pingMongo(front []string) (pinger, error) {
	c, err := mongo.Connect(options.Client().ApplyURI(front[0]))
	if err != nil {
		return pinger{}, errURL
	}
	return pinger{func(ctx context.Context) error { return c.Ping(ctx, nil) }, func() { _ = c.Disconnect(context.Background()) }}, nil
}

func pingZooKeeper(front []string) (pinger, error) {
	c, _, err := zk.Connect(hosts(front), 10*time.Second, zk.WithLogInfo(false), zk.WithLogger(zookeeper.Silent{}))
	if err != nil {
		return pinger{}, err
	}
	ask := func(ctx context.Context) error {
		answered := make(chan error, 1) // c.Exists accepts no context, so call it in a goroutine
		go func() {
			_, _, err := c.Exists("/")
			answered <- err
		}()
		select {
		case err := <-answered:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return pinger{ask, c.Close}, nil
}

func pingEtcd(front []string) (pinger, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: hosts(front), DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return pinger{}, err
	}
	return pinger{func(ctx context.Context) error { _, err := c.Get(ctx, "/"); return err }, func() { _ = c.Close() }}, nil
}
