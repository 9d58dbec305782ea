package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"lockbench/internal/world/servers"
)

// endSession ends the session of the lock's holder or last waiter. ZooKeeper has no command for this. So endSession continues
// the session on a new connection and closes it there, as a client does that ends normally.
func endSession(ctx context.Context, addr, key string, of servers.Role) error {
	ctx, cancel := context.WithTimeout(ctx, servers.EndSessionTimeout)
	defer cancel()
	return inSession(ctx, []string{addr}, func(c *zk.Conn) error {
		path := "/" + url.PathEscape(key)
		queue, err := queued(c, path)
		switch {
		case err != nil:
			return err
		case len(queue) == 0:
			return servers.ErrNoHolder
		}
		ended := queue[0]
		if of == servers.LastWaiter {
			if ended = queue[len(queue)-1]; ended.session == queue[0].session {
				return servers.ErrNoWaiter
			}
		}
		if err := closeSession(ctx, addr, ended.session); err != nil {
			return err
		}
		left, err := queued(c, path)
		switch {
		case err != nil:
			return err
		case slices.Contains(left, ended):
			return errors.New("its session has not ended")
		case of == servers.LastWaiter && (len(left) == 0 || left[0] != queue[0]):
			return servers.ErrHolderChanged
		}
		return nil
	})
}

// entry is a node in the queue of a lock.
type entry struct {
	name    string
	session int64
}

// digits is the length of the number at the end of a sequential node's name.
const digits = 10

// queued returns the ephemeral nodes under a path, sorted by the numbers at the end of their names.
func queued(c *zk.Conn, path string) (all []entry, err error) {
	names, _, err := c.Children(path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	names = slices.DeleteFunc(names, func(n string) bool { return len(n) < digits })
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(a[len(a)-digits:], b[len(b)-digits:]) })
	for _, name := range names {
		exists, stat, err := c.Exists(path + "/" + name)
		if err != nil {
			return nil, err
		}
		if exists && stat.EphemeralOwner != 0 {
			all = append(all, entry{name, stat.EphemeralOwner})
		}
	}
	return all, err
}

// Numbers of ZooKeeper's protocol.
const (
	closing        = ^uint32(10) // type of the request that closes a session: -11
	passwordLength = 16
	longestReply   = 1024
)

// closeSession closes a session of another client.
func closeSession(ctx context.Context, addr string, session int64) error {
	return servers.Ask(ctx, addr, func(conn net.Conn) error {
		connect := make([]byte, 0, 64)
		connect = binary.BigEndian.AppendUint32(connect, 0)    // version of the protocol
		connect = binary.BigEndian.AppendUint64(connect, 0)    // last transaction that the client has seen
		connect = binary.BigEndian.AppendUint32(connect, 4000) // session timeout in milliseconds
		connect = binary.BigEndian.AppendUint64(connect, uint64(session))
		connect = binary.BigEndian.AppendUint32(connect, passwordLength)
		connect = append(append(connect, password(session)...), 0) // 0: not read-only
		reply, err := exchange(conn, connect)
		if err != nil {
			return err
		}
		if len(reply) < 16 || int64(binary.BigEndian.Uint64(reply[8:])) != session {
			return fmt.Errorf("the server did not continue the session %#x", session)
		}
		request := binary.BigEndian.AppendUint32(nil, 1) // number of the request
		_, err = exchange(conn, binary.BigEndian.AppendUint32(request, closing))
		return err
	})
}

// exchange sends a message and returns the reply. Each is preceded by its length.
func exchange(conn net.Conn, message []byte) ([]byte, error) {
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > longestReply {
		return nil, fmt.Errorf("a reply of %d bytes", n)
	}
	reply := make([]byte, n)
	_, err := io.ReadFull(conn, reply)
	return reply, err
}

// password returns the password of a session. ZooKeeper derives it from the session's number with java.util.Random and a
// fixed seed. Source: ZooKeeperServer.generatePasswd in ZooKeeper 3.8.
func password(session int64) []byte {
	const fixed, factor, addend, mask = 0xB3415C00, 0x5DEECE66D, 0xB, 1<<48 - 1
	state := (uint64(session^fixed) ^ factor) & mask
	var all []byte
	for len(all) < passwordLength {
		state = (state*factor + addend) & mask
		for word, n := int32(state>>16), 0; n < 4; word, n = word>>8, n+1 {
			all = append(all, byte(word))
		}
	}
	return all
}
