package zookeeper

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-zookeeper/zk"

	"lockbench/internal/world/servers"
)

// access finds a node for each key beneath the root, and in it those of holders and waiters.
func access() *servers.Access {
	return &servers.Access{
		Form: servers.Form{Like: "host:2181,host:2181", Port: "2181", Many: true, Database: regexp.MustCompile(`^$`)},
		// The one command of four letters that is allowed everywhere.
		Version: func(ctx context.Context, _ servers.Target, host string) (string, error) {
			answer, err := word(ctx, host, "srvr")
			line, _, _ := strings.Cut(answer, "\n")
			version, is := strings.CutPrefix(line, "Zookeeper version: ")
			switch {
			case is:
				version, _, _ = strings.Cut(version, "-")
				return strings.TrimSpace(version), nil
			case err != nil:
				return "", err
			}
			return "", errors.New("it does not answer as ZooKeeper does")
		},
		Names: func(ctx context.Context, t servers.Target, prefix string, visit func([]string) error) error {
			return inSession(ctx, t, func(c *zk.Conn) error {
				nodes, err := queues(c, prefix)
				for i, n := range nodes {
					nodes[i], _ = url.PathUnescape(n) // queues has read it already
				}
				return errors.Join(err, visit(nodes))
			})
		},
		Remove: func(ctx context.Context, t servers.Target, prefix string) error {
			return inSession(ctx, t, func(c *zk.Conn) error {
				nodes, err := queues(c, prefix)
				for _, n := range nodes {
					err = errors.Join(err, removeNode(c, "/"+n))
				}
				return err
			})
		},
	}
}

func queues(c *zk.Conn, prefix string) ([]string, error) {
	nodes, _, err := c.Children("/")
	var found []string
	for _, n := range nodes {
		if name, err := url.PathUnescape(n); err == nil && strings.HasPrefix(name, prefix) {
			found = append(found, n)
		}
	}
	return found, err
}

// removeNode removes a node and what is in it. What is gone already is as it should be.
func removeNode(c *zk.Conn, path string) error {
	children, _, err := c.Children(path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	} else if err != nil {
		return err
	}
	for _, child := range children {
		if err := removeNode(c, path+"/"+child); err != nil {
			return err
		}
	}
	if err := c.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}

func inSession(ctx context.Context, t servers.Target, do func(*zk.Conn) error) error {
	c, events, err := zk.Connect(t.Hosts(), servers.ReachWithin, zk.WithLogger(silence{}), zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		select {
		case e := <-events:
			if e.State != zk.StateHasSession {
				continue
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		break
	}
	done := make(chan error, 1)
	go func() { done <- do(c) }() // it ends with the connection at the latest
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

type silence struct{}

func (silence) Printf(string, ...any) {}
