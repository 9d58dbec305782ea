package sim

import (
	"bufio"
	"errors"
	"io"
	"slices"

	"github.com/alicebob/miniredis/v2/server"

	"lockbench/internal/drive/faults"
)

// readOnly is the error reply of a Redis server that refuses writes.
const readOnly = "READONLY You can't write against a read only replica."

// The variable writes lists the commands of locks that change data. A server that refuses writes still executes all
// other commands, such as PUBLISH.
var writes = []string{"SET", "SETNX", "DEL", "UNLINK", "EXPIRE", "PEXPIRE", "PERSIST", "INCR", "INCRBY", "HSET", "HSETNX", "HDEL", "HINCRBY",
	"LPUSH", "RPUSH", "LPOP", "RPOP", "LSET", "LREM", "LTRIM", "SADD", "SREM", "ZADD", "ZREM"}

// enter changes the state of the server. Depending on v, the server deletes all data, forgets the scripts, or refuses
// writes. The returned function ends the state; it is nil if the change cannot be undone.
func (n *node) enter(v faults.Verb) (leave func(), err error) {
	emulator := n.running()
	if emulator == nil {
		return nil, errors.New("the server is dead")
	}
	switch v {
	case faults.Empty:
		emulator.FlushAll()
	case faults.ForgetScripts:
		n.forget()
		emulator.Server().Dispatch(server.NewPeer(bufio.NewWriter(io.Discard)), []string{"SCRIPT", "FLUSH"})
	case faults.ReadOnly:
		n.bars.Store(true)
		return func() { n.bars.Store(false) }, nil
	}
	return nil, nil
}

// refuseWrite replies with an error to a write if the server refuses writes. It reports whether it replied.
func (n *node) refuseWrite(peer *server.Peer, command string) bool {
	if !n.bars.Load() || !slices.Contains(writes, command) {
		return false
	}
	peer.WriteError(readOnly)
	return true
}
