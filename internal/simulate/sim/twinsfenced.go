package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// fence is what the store has of the lock fenced: its record, if there is one, and who waits.
type fence struct {
	there                      bool
	token, owner               string
	fence, depth, since, lease int
	queue                      []string
}

// fence reads it; sure is false where that is not what the lock's scripts leave.
func (c *call) fence() (f fence, sure bool) {
	all, err := c.db.List(c.keys[0])
	if err == miniredis.ErrKeyNotFound {
		return f, true
	}
	if err != nil || c.db.TTL(c.keys[0]) != 0 || len(all[0]) < 89 {
		return f, false
	}
	record := all[0]
	f = fence{there: true, token: record[:32], owner: record[89:], queue: slices.Clone(all[1:])}
	var whole [4]bool
	f.fence, whole[0] = digits(record[33:49])
	f.depth, whole[1] = digits(record[50:60])
	f.since, whole[2] = digits(record[61:77])
	f.lease, whole[3] = digits(record[78:88])
	return f, whole == [4]bool{true, true, true, true} && f.String() == record && (f.depth > 0 || f.since == 0)
}

// digits is a number with zeros before it, that Lua does not round.
func digits(text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n < 1<<53
}

// lease is a time in ms, of ten digits.
func lease(text string) (ms int, ok bool) {
	ms, ok = digits(text)
	return ms, ok && len(text) == 10
}

// String is the record.
func (f fence) String() string {
	return fmt.Sprintf("%s %016d %010d %016d %010d %s", f.token, f.fence, f.depth, f.since, f.lease, f.owner)
}

// until is when it is over.
func (f fence) until() int { return f.since + f.lease*1000 }

// put has the record in the place of the one there was.
func (c *call) put(f fence) {
	if f.there {
		_, _ = c.db.Lpop(c.keys[0]) // it is a list
	}
	_, _ = c.db.Lpush(c.keys[0], f.String())
}

// mint is the fence of a new holder.
func (f fence) mint(now int, follows string) int {
	if follows == "clock" {
		return max(f.fence+1, now)
	}
	return f.fence + 1
}

// now is the server's time in microseconds, as it tells a script.
func (c *call) now() int {
	var answer bytes.Buffer
	peer := server.NewPeer(bufio.NewWriterSize(&answer, 64))
	c.server.Server().Dispatch(peer, []string{"TIME"})
	peer.Flush()
	lines := strings.Split(answer.String(), "\r\n") // two, each with its length before it
	seconds, _ := strconv.Atoi(lines[2])
	micros, _ := strconv.Atoi(lines[4])
	return seconds*1_000_000 + micros
}

// said3 is the answer to an acquire.
func (c *call) said3(depth int, token string, last int) bool {
	c.peer.WriteLen(3)
	c.peer.WriteInt(depth)
	c.peer.WriteBulk(token)
	c.peer.WriteInt(last)
	return true
}

func (c *call) fencedAcquire() bool {
	token, owner := c.args[0], c.args[1]
	waits, again := c.args[3] != "", c.args[4] == "1"
	entry := token + " " + c.args[3] + " " + owner
	ms, whole := lease(c.args[2])
	f, known := c.fence()
	if !whole || !known || len(token) != 32 {
		return false
	}
	now := c.now()
	free, in := f.until() <= now, slices.Contains(f.queue, entry)
	switch {
	case waits && again && in && (free || f.owner == owner && f.token != token):
		return false // it is to be taken out of the middle
	case free:
		there := f.there
		f = fence{there: there, token: token, owner: owner, fence: f.mint(now, c.args[5]), depth: 1, since: now, lease: ms}
		c.put(f)
		return c.said(f.fence)
	case f.token == token:
		f.since, f.lease = now, ms
		c.put(f)
		return c.said3(f.depth, token, f.fence)
	case f.owner == owner:
		if f.token != c.args[6] {
			f.fence = f.mint(now, c.args[5])
		}
		if f.depth++; f.until() < now+ms*1000 {
			f.since, f.lease = now, ms
		}
		c.put(f)
		return c.said3(f.depth, f.token, f.fence)
	case waits && !(again && in):
		_, _ = c.db.Push(c.keys[0], entry) // it is a list
	}
	return c.said3(0, "", (f.until()-now+999)/1000)
}

// waiter is an entry of the queue.
type waiter struct {
	token, process, owner string
	ms                    int
}

// waiterOf reads an entry; sure is false where it is not what the lock writes.
func waiterOf(entry string) (w waiter, sure bool) {
	if len(entry) < 77 {
		return w, false
	}
	ms, whole := lease(entry[66:76])
	return waiter{token: entry[:32], process: entry[33:65], owner: entry[77:], ms: ms}, whole
}

func (c *call) fencedRelease() bool {
	f, known := c.fence()
	if !known || c.args[1] != "" && slices.Contains(f.queue, c.args[1]) {
		return false
	}
	now := c.now()
	switch {
	case !f.there || f.until() <= now:
		return c.said(0)
	case f.token != c.args[0]:
		return c.said(-1)
	case f.depth != 1:
		f.depth--
		c.put(f)
		return c.said(1)
	}
	var waiters []waiter
	for _, entry := range f.queue {
		w, sure := waiterOf(entry)
		if !sure {
			return false
		}
		waiters = append(waiters, w)
	}
	c.handOver(f, waiters, now)
	return c.said(1)
}

// handOver grants the lock to the first in the queue who listens, or frees it.
func (c *call) handOver(f fence, waiters []waiter, now int) {
	next := fence{there: true, fence: f.mint(now, c.args[3]), depth: 1}
	for _, w := range waiters {
		_, _ = c.db.Lpop(c.keys[0]) // each time what was the first
		if c.server.Publish(c.args[2]+w.process, fmt.Sprintf("%s %016d %s", w.token, next.fence, c.keys[0])) > 0 {
			next.token, next.owner, next.since, next.lease = w.token, w.owner, now, w.ms
			c.put(next)
			return
		}
	}
	c.put(fence{there: true, token: strings.Repeat("0", 32), fence: f.fence})
}

func (c *call) fencedRenew() bool {
	f, known := c.fence()
	ms, whole := lease(c.args[1])
	if !known || !whole {
		return false
	}
	now := c.now()
	switch {
	case !f.there || f.until() <= now:
		return c.said(0)
	case f.token != c.args[0]:
		return c.said(-1)
	}
	f.since, f.lease = now, ms
	c.put(f)
	return c.said(1)
}
