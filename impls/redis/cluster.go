package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// connectCluster opens a client of a Redis Cluster. Env.Nodes must contain all servers of the cluster. The client connects
// at its first use. All keys of one command or script must be in one slot.
func connectCluster(env impls.Env) (Node, error) {
	servers, err := env.Servers("redis://host:port")
	if err != nil {
		return Node{}, err
	}
	d := &directory{env: env, dial: env.Network(), turn: make(chan struct{}, 1)}
	first, err := Options(env, env.Nodes[0])
	if err != nil {
		return Node{}, err
	}
	opts := &redis.ClusterOptions{Username: first.Username, Password: first.Password, Dialer: d.open, DisableRoutingPolicies: true}
	for _, u := range servers {
		opts.Addrs = append(opts.Addrs, u.Host)
		d.given.Store(u.Host, u.Host)
	}
	var c *redis.ClusterClient
	opts.NewClient = func(o *redis.Options) *redis.Client {
		of := redis.NewClient(careful(o))
		of.AddHook(once{func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, reloadWithin)
			defer cancel()
			_ = c.ForEachMaster(ctx, func(context.Context, *redis.Client) error { return nil }) // ForEachMaster also reloads the slot table
		}})
		return of
	}
	c = redis.NewClusterClient(opts)
	return Node{c, env.Prefix}, nil
}

// reloadWithin is the timeout for reloading the slot table. Without a reload, the next command would be sent to the dead
// primary.
const reloadWithin = 300 * time.Millisecond

// directory maps addresses inside a cluster to addresses in Env.Nodes. An address in Env.Nodes may be that of a proxy.
type directory struct {
	env   impls.Env
	dial  impls.Dialer
	turn  chan struct{} // capacity 1: only one goroutine queries the servers, and the other goroutines wait for the result
	given sync.Map      // maps a server's address in the cluster to its address in Env.Nodes; the latter address maps to itself
}

const introduceWithin = time.Second

func (d *directory) open(ctx context.Context, network, addr string) (net.Conn, error) {
	to, err := d.find(ctx, addr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	return d.dial(ctx, network, to)
}

func (d *directory) find(ctx context.Context, addr string) (string, error) {
	if to, ok := d.given.Load(addr); ok {
		return to.(string), nil
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if _, ok := d.given.Load(addr); !ok {
		d.askAll(ctx)
	}
	if to, ok := d.given.Load(addr); ok {
		return to.(string), nil
	}
	return "", fmt.Errorf("no given server has the address %s in the cluster", addr)
}

// askAll asks each given server for its address inside the cluster, and stores the answers.
func (d *directory) askAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, introduceWithin)
	defer cancel()
	var all sync.WaitGroup
	for _, url := range d.env.Nodes {
		all.Go(func() {
			opts, err := Options(d.env, url)
			if err != nil {
				return
			}
			n := redis.NewClient(careful(opts))
			defer n.Close()
			for line := range strings.Lines(n.ClusterNodes(ctx).Val()) { // format of a line: id host:port@bus flags ...
				words := strings.Fields(line)
				if len(words) > 2 && strings.Contains(words[2], "myself") {
					itself, _, _ := strings.Cut(words[1], "@")
					d.given.Store(itself, opts.Addr)
				}
			}
		})
	}
	all.Wait()
}

// once is a hook that stops a cluster client from resending a command that got no answer. A resent SET NX would be refused,
// because the key is already set. A command that was never sent, or that a server refused, may be resent. After a network
// error, once reloads the slot table.
type once struct{ reload func(context.Context) }

func (o once) DialHook(next redis.DialHook) redis.DialHook { return next }

func (o once) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		var answer redis.Error
		if cmd.Name() == "cluster" || err == nil || errors.As(err, &answer) { // the command "cluster" queries the slot table
			return err
		}
		o.reload(ctx)
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return err
		}
		return unanswered{err.Error()}
	}
}

func (o once) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// unanswered wraps a network error so that the client library does not resend the command.
type unanswered struct{ why string }

func (u unanswered) Error() string { return "no answer: " + u.why }
