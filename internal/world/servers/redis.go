package servers

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	redisProgram = "redis-server"
	upWithin     = 7 * time.Second
)

func redisStore() store {
	return store{
		name: Redis, product: "redis", provide: "apt install redis-server",
		durability: "in memory only, and gone when it crashes",
		missing: func() error {
			_, err := exec.LookPath(redisProgram)
			return err
		},
		deployments: []deployment{
			{Single, 1, "", startIndependent},
			{Replica, 2, "replication", startReplicated},
			{Five, 5, "", startIndependent},
			{TwoReplicas, 3, "replication", startReplicated},
			{Sentinel, 3, "replication", startWatched},
			{Durable, 1, "durability", startDurable},
			{FiveDelayed, 5, "", startIndependent},
			{Cluster, 2 * shards, "cluster mode", startCluster},
		},
	}
}

// redisNode is a redis-server of our own, or a Sentinel.
type redisNode struct {
	*local
	arguments arguments
	library   string     // that moves a clock; "": it has the machine's
	clock     *wallClock // nil: it has the machine's
	follows   *forwarder // where its primary is reached, guarded by life; nil: it is one
}

var _ Node = (*redisNode)(nil)

// arguments are what a server is run with, once it has a port and a folder.
type arguments func(*redisNode) ([]string, error)

// data are the arguments of a server that holds keys. Without its --save it would write them to disk now and then,
// and a replica would keep what it was sent at first.
func data(options ...string) arguments {
	return func(n *redisNode) ([]string, error) {
		args := n.plain()
		if n.follows != nil {
			args = append(args, "--replicaof", "127.0.0.1", n.follows.port())
		}
		return append(args, options...), nil
	}
}

func (n *redisNode) plain() []string {
	return []string{"--port", strconv.Itoa(n.ports[0]), "--bind", "127.0.0.1", "--dir", n.dir, "--save", "", "--rdb-del-sync-files", "yes"}
}

// startIndependent starts so many servers that know nothing of each other.
func startIndependent(ctx context.Context, l launcher, g *Group, nodes int) error {
	return l.startAll(ctx, g, nodes, data())
}

// startDurable starts a server that has written to disk what it has acknowledged.
func startDurable(ctx context.Context, l launcher, g *Group, nodes int) error {
	g.Durability = onDisk
	return l.startAll(ctx, g, nodes, data(appendOnly()...))
}

const onDisk = "on disk, in an append-only file with an fsync before each answer"

func appendOnly() []string { return []string{"--appendonly", "yes", "--appendfsync", "always"} }

// startAll starts so many servers at once, and adds those that came up also where one did not.
func (l launcher) startAll(ctx context.Context, g *Group, nodes int, a arguments) error {
	started, err := atOnce(nodes, func(int) (*redisNode, error) { return l.startRedis(ctx, 1, a, nil) })
	for _, n := range started {
		g.add(n, Redis, n.version)
	}
	return err
}

func (l launcher) startRedis(ctx context.Context, ports int, a arguments, follows *forwarder) (*redisNode, error) {
	return start(ctx, l, ports, upWithin, func(n *local) (*redisNode, product) {
		r := &redisNode{local: n, arguments: a, library: l.clock, follows: follows}
		return r, r
	})
}

// withClock makes what servers are started with, so that their clocks can be moved.
func (l *launcher) withClock(ctx context.Context, g *Group) error {
	dir, err := l.keeper.Folder()
	if err != nil {
		return err
	}
	g.release = func() error { return errors.Join(os.RemoveAll(dir), l.keeper.Close()) }
	l.clock, err = buildClock(ctx, l.keeper, dir)
	return err
}

func (n *redisNode) prepare(context.Context) (err error) {
	if n.library == "" {
		return nil
	}
	if n.clock, err = newWallClock(n.dir); err == nil {
		n.freed = append(n.freed, n.clock.offset.close)
	}
	return err
}

func (n *redisNode) command() (*exec.Cmd, error) {
	args, err := n.arguments(n)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(redisProgram, args...)
	if n.clock != nil {
		cmd.Env = n.clock.environ(n.library)
	}
	return cmd, nil
}

func (n *redisNode) ask(ctx context.Context) (version string, err error) {
	info, err := askInfo(ctx, n.addr(), "all")
	switch {
	case err != nil:
		return "", err
	case info["process_id"] != strconv.Itoa(n.child.Load().Pid()):
		return "", errors.New("another server answers")
	case info["loading"] == "1":
		return "", errors.New("it is loading what it has")
	}
	return info["redis_version"], nil
}

// awaitInfo returns when a section of the server's INFO is as wanted.
func (n *redisNode) awaitInfo(ctx context.Context, what, section string, is func(info map[string]string) bool) error {
	return n.await(ctx, what, func(ctx context.Context) bool {
		info, err := askInfo(ctx, n.addr(), section)
		return err == nil && is(info)
	})
}

func (n *redisNode) URL() string { return "redis://" + n.addr() }

// client is for what is more than one question. The caller closes it.
func (n *redisNode) client() *redis.Client { return quiet(&redis.Options{Addr: n.addr()}) }

func (n *redisNode) counters(ctx context.Context) (map[string]float64, error) {
	info, err := askInfo(ctx, n.addr(), "all")
	if err != nil {
		return nil, err
	}
	return counters(info)
}
