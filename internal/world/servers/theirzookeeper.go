package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// theirZooKeeper has a node for each key beneath the root, and in it those of who holds and waits.
func theirZooKeeper() theirs {
	return theirs{store: ZooKeeper, version: versionOfZooKeeper,
		names: func(ctx context.Context, t Target, prefix string) (names []string, err error) {
			err = t.inZooKeeper(ctx, func(c *zk.Conn) error {
				nodes, err := queues(c, prefix)
				for _, n := range nodes {
					name, _ := url.PathUnescape(n) // queues has read it already
					names = append(names, name)
				}
				return err
			})
			return names, err
		},
		remove: func(ctx context.Context, t Target, prefix string) error {
			return t.inZooKeeper(ctx, func(c *zk.Conn) error {
				nodes, err := queues(c, prefix)
				for _, n := range nodes {
					err = errors.Join(err, removeNode(c, "/"+n))
				}
				return err
			})
		},
	}
}

// queues are the nodes beneath the root whose keys begin so.
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

// versionOfZooKeeper asks by the one command of four letters that is allowed everywhere.
func versionOfZooKeeper(ctx context.Context, _ Target, host string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // as in askInfo
	if _, err := fmt.Fprint(conn, "srvr"); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	version, is := strings.CutPrefix(line, "Zookeeper version: ")
	switch {
	case is:
		version, _, _ = strings.Cut(version, "-")
		return strings.TrimSpace(version), nil
	case err != nil && line == "":
		return "", err
	}
	return "", errors.New("it does not answer as ZooKeeper does")
}

// inZooKeeper does something in a session, which ends with the context.
func (t Target) inZooKeeper(ctx context.Context, do func(*zk.Conn) error) error {
	c, events, err := zk.Connect(t.hosts, reachWithin, zk.WithLogger(zkSilence{}), zk.WithLogInfo(false))
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

type zkSilence struct{}

func (zkSilence) Printf(string, ...any) {}
