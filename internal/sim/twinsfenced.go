package sim

import (
	"bufio"
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// fence is what the store has of a hold of the lock fenced, if anything.
type fence struct {
	held         bool
	token, owner string
	depth, fence int
}

// fence reads it; sure is false where that is not what the lock's scripts leave.
func (c *call) fence() (f fence, sure bool) {
	key := c.keys[0]
	switch c.db.Type(key) {
	case "":
		return f, true
	case "hash":
	default:
		return f, false
	}
	var whole [2]bool
	f.held, f.token, f.owner = true, c.db.HGet(key, "token"), c.db.HGet(key, "owner")
	f.depth, whole[0] = number(c.db.HGet(key, "depth"))
	f.fence, whole[1] = fenceNumber(c.db.HGet(key, "fence"))
	return f, f.token != "" && f.owner != "" && whole[0] && whole[1]
}

// queue is who waits; sure is false where that is not a queue.
func (c *call) queue() (entries []string, sure bool) {
	entries, err := c.db.List(c.keys[2])
	return entries, err == nil || err == miniredis.ErrKeyNotFound
}

// counts tells whether the counter can be raised.
func (c *call) counts() bool {
	text, err := c.db.Get(c.keys[1])
	n, whole := fenceNumber(text)
	return whole && n >= 0 || err == miniredis.ErrKeyNotFound
}

// fenceNumber is a number that may be as large as a time in microseconds, and that Lua does not round.
func fenceNumber(text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && strconv.Itoa(n) == text && n < 1<<53 && n > -1<<53
}

// mint raises the counter, which can be; where it follows the clock, to the server's time at least.
func (c *call) mint(follows string) int {
	fence, _ := c.db.Incr(c.keys[1], 1)
	if follows != "clock" {
		return fence
	}
	if now := c.now(); now > fence {
		_ = c.db.Set(c.keys[1], strconv.Itoa(now)) // it is no other type
		return now
	}
	return fence
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

// grant lets the lock be held.
func (c *call) grant(token, owner string, fence, ms int) {
	c.db.HSet(c.keys[0], "token", token, "owner", owner, "depth", "1", "fence", strconv.Itoa(fence))
	c.expire(c.keys[0], ms)
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
	token, owner, entry := c.args[0], c.args[1], c.args[3]
	waits, again := entry != "", c.args[4] == "1"
	ms, whole := number(c.args[2])
	f, known := c.fence()
	queue, queued := c.queue()
	in := slices.Contains(queue, entry)
	leaves := waits && again && in && (!f.held || f.owner == owner)
	if !whole || !known || !queued || !c.counts() || leaves && f.token != token {
		return false
	}
	switch {
	case f.held && f.token == token:
		c.expire(c.keys[0], ms)
		return c.said3(f.depth, f.token, f.fence)
	case !f.held:
		fence := c.mint(c.args[5])
		c.grant(token, owner, fence, ms)
		return c.said3(1, token, fence)
	case f.owner == owner:
		if f.token != c.args[6] {
			f.fence = c.mint(c.args[5])
		}
		c.db.HSet(c.keys[0], "depth", strconv.Itoa(f.depth+1), "fence", strconv.Itoa(f.fence))
		if c.left(c.keys[0]) < ms {
			c.expire(c.keys[0], ms)
		}
		return c.said3(f.depth+1, f.token, f.fence)
	}
	if waits {
		if !again || !in {
			_, _ = c.db.Push(c.keys[2], entry) // it is a list
		}
		c.expire(c.keys[2], 60_000)
	}
	return c.said3(0, "", c.left(c.keys[0]))
}

// waiter is an entry of the queue.
type waiter struct {
	token, process, owner string
	ms                    int
}

// waiterOf reads an entry; sure is false where it is not what the lock writes.
func waiterOf(entry string) (w waiter, sure bool) {
	parts := strings.SplitN(entry, " ", 4)
	if len(parts) < 4 || !hexadecimal(parts[0]) || !hexadecimal(parts[1]) {
		return w, false
	}
	ms, whole := number(parts[2])
	return waiter{token: parts[0], process: parts[1], owner: parts[3], ms: ms}, whole && ms >= 0
}

func hexadecimal(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

func (c *call) fencedRelease() bool {
	f, known := c.fence()
	queue, queued := c.queue()
	if !known || !queued || !c.counts() || c.args[1] != "" && slices.Contains(queue, c.args[1]) {
		return false
	}
	switch {
	case !f.held:
		return c.said(0)
	case f.token != c.args[0]:
		return c.said(-1)
	case f.depth > 1:
		c.db.HSet(c.keys[0], "depth", strconv.Itoa(f.depth-1))
		return c.said(1)
	}
	var waiters []waiter
	for _, entry := range queue {
		w, sure := waiterOf(entry)
		if !sure {
			return false
		}
		waiters = append(waiters, w)
	}
	c.handOver(waiters)
	return c.said(1)
}

// handOver grants the lock to the first in the queue who listens, or frees it.
func (c *call) handOver(waiters []waiter) {
	fence := 0
	for _, w := range waiters {
		_, _ = c.db.Lpop(c.keys[2]) // it is a list
		if fence == 0 {
			fence = c.mint(c.args[3])
		}
		if c.server.Publish(c.args[2]+w.process, w.token+" "+strconv.Itoa(fence)+" "+c.keys[0]) > 0 {
			c.grant(w.token, w.owner, fence, w.ms)
			return
		}
	}
	c.db.Del(c.keys[0])
}

func (c *call) fencedRenew() bool {
	f, known := c.fence()
	ms, whole := number(c.args[1])
	switch {
	case !known || !whole:
		return false
	case !f.held:
		return c.said(0)
	case f.token != c.args[0]:
		return c.said(-1)
	}
	c.expire(c.keys[0], ms)
	return c.said(1)
}
