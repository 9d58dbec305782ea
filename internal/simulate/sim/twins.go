package sim

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	redislocks "lockbench/impls/redis"
)

// A twin does in Go what one of the locks' scripts does in Lua, for which the emulator would make a new Lua state each
// time: most of what a trial costs. It does so by several calls of the emulator. That is one step all the same: no
// two commands arrive at one virtual instant, and no time goes by before a twin is done.
//
// A twin is sure of what locks send and of what they leave in the store. Where it is not (a key of another type, a
// field that is no number, an entry to be taken out of the middle of a queue) it says so before it has changed anything, and
// the script itself is run.
type twin struct {
	source, hash string
	keys, args   int // how many it has
	do           func(*call) bool
}

// call is a script to be run.
type call struct {
	server     *miniredis.Miniredis
	db         *miniredis.RedisDB
	peer       *server.Peer
	keys, args []string
}

// twins are all of them, by the name of the script. Each has the hash of the script that it was shown to be equal to:
// one that was changed since is run itself.
var twins = map[string]twin{
	"compare_and_delete":      {hash: "3139a18ad69728a188ca6e5cb94ba93a232956c1", keys: 1, args: 1, do: (*call).compareAndDelete},
	"compare_and_pexpire":     {hash: "2cbc525d4eb5d56bd98202ec39816cbe56d797ce", keys: 1, args: 2, do: (*call).compareAndPExpire},
	"fenced_acquire":          {hash: "ca2caaf08fff7a3f085a53c9a9f787ae46a9b3b9", keys: 1, args: 7, do: (*call).fencedAcquire},
	"fenced_release":          {hash: "cec55f8e902b3415c5c6f720a5f9573c25b6b769", keys: 1, args: 4, do: (*call).fencedRelease},
	"fenced_renew":            {hash: "7374134ff3e74b9b695fa1ba3261d997c07a878d", keys: 1, args: 2, do: (*call).fencedRenew},
	"redisson_acquire":        {hash: "99f84238272269adda2603e2f8fb56245325a82b", keys: 1, args: 2, do: (*call).redissonAcquire},
	"redisson_release":        {hash: "fa4a9a6e6a79330583ffa7c2b87483f20a740d1a", keys: 2, args: 2, do: (*call).redissonRelease},
	"redisson_extend":         {hash: "6f078136f3909d1fde95508c10612c8ef3566e49", keys: 1, args: 2, do: (*call).redissonExtend},
	"redisson_legacy_acquire": {hash: "893c0628f238be084622ed18f10240f82445660c", keys: 1, args: 2, do: (*call).redissonAcquire}, // in two branches, that do the same
	"redisson_legacy_release": {hash: "781931b07dbe292725524ee747a8088a6293d28a", keys: 2, args: 2, do: (*call).redissonLegacyRelease},
}

// twinsOf are the twins by what a client sends: the source of a script, or its hash.
var twinsOf = sync.OnceValue(func() map[string]twin {
	all := map[string]twin{}
	for _, s := range redislocks.Scripts() {
		t, known := twins[s.Name]
		if !known || t.hash != hashOf(s.Source) {
			continue
		}
		t.source = s.Source
		all[t.source], all[t.hash] = t, t
	}
	return all
})

// hashOf is what a script is called by, once a server knows it.
func hashOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

// scripted answers a command that runs a script by the script's twin; false: the emulator has to answer it. known are
// the hashes of the scripts that the server was sent: any other has to be sent first, as on a real one.
func scripted(m *miniredis.Miniredis, known *sync.Map, peer *server.Peer, command string, args []string) bool {
	if command != "EVAL" && command != "EVALSHA" || len(args) < 2 {
		return false
	}
	t, found := twinsOf()[args[0]]
	if _, sent := known.Load(t.hash); !found || command == "EVALSHA" && !sent {
		return false
	}
	if t.answers(m, peer, args[1:]) {
		known.Store(t.hash, true)
		return true
	}
	if command == "EVAL" {
		return false
	}
	m.Server().Dispatch(peer, append([]string{"EVAL", t.source}, args[1:]...)) // which the emulator was never sent
	return true
}

// answers answers a script; false where it is not sure how.
func (t twin) answers(m *miniredis.Miniredis, peer *server.Peer, args []string) bool {
	if args[0] != strconv.Itoa(t.keys) || len(args) != 1+t.keys+t.args {
		return false
	}
	return t.do(&call{server: m, db: m.DB(0), peer: peer, keys: args[1 : 1+t.keys], args: args[1+t.keys:]})
}

// number is what a script takes for a whole number, where it is written in the usual way and is not so large that Lua
// would round it.
func number(text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && strconv.Itoa(n) == text && n < 1<<40 && n > -1<<40
}

// is tells whether a key is of a type, or there is none.
func (c *call) is(key, kind string) bool {
	found := c.db.Type(key)
	return found == "" || found == kind
}

// expire is PEXPIRE of a key that is there.
func (c *call) expire(key string, ms int) {
	if ms <= 0 {
		c.db.Del(key)
		return
	}
	c.db.SetTTL(key, time.Duration(ms)*time.Millisecond)
}

// left is PTTL of a key that is there.
func (c *call) left(key string) int {
	if left := c.db.TTL(key); left != 0 {
		return int(left / time.Millisecond)
	}
	return -1
}

// said is the answer that is a whole number.
func (c *call) said(n int) bool {
	c.peer.WriteInt(n)
	return true
}

func (c *call) compareAndDelete() bool {
	switch held, err := c.db.Get(c.keys[0]); {
	case err == miniredis.ErrKeyNotFound:
		return c.said(0)
	case err != nil:
		return false
	case held != c.args[0]:
		return c.said(0)
	}
	c.db.Del(c.keys[0])
	return c.said(1)
}

func (c *call) compareAndPExpire() bool {
	ms, ok := number(c.args[1])
	switch held, err := c.db.Get(c.keys[0]); {
	case !ok:
		return false
	case err == miniredis.ErrKeyNotFound:
		return c.said(0)
	case err != nil:
		return false
	case held != c.args[0]:
		return c.said(0)
	}
	c.expire(c.keys[0], ms)
	return c.said(1)
}

// field is HEXISTS, and how often the owner holds; sure is false where a script would fail.
func (c *call) field(ms *int) (count int, has, sure bool) {
	key, owner := c.keys[0], c.args[1]
	if *ms, sure = number(c.args[0]); !sure || !c.is(key, "hash") {
		return 0, false, false
	}
	text := c.db.HGet(key, owner)
	if text == "" { // which the emulator also says of a field that is not there
		names, _ := c.db.HKeys(key)
		return 0, false, !slices.Contains(names, owner)
	}
	count, sure = number(text)
	return count, true, sure
}

func (c *call) redissonAcquire() bool {
	var ms int
	count, mine, sure := c.field(&ms)
	if !sure {
		return false
	}
	key, owner := c.keys[0], c.args[1]
	if !mine && c.db.Exists(key) {
		c.pair(0, c.left(key))
		return true
	}
	c.db.HSet(key, owner, strconv.Itoa(count+1))
	c.expire(key, ms)
	c.pair(count+1, 0)
	return true
}

func (c *call) pair(first, second int) {
	c.peer.WriteLen(2)
	c.peer.WriteInt(first)
	c.peer.WriteInt(second)
}

func (c *call) redissonExtend() bool {
	var ms int
	_, mine, sure := c.field(&ms)
	if !sure || !mine {
		return sure && c.said(0)
	}
	c.expire(c.keys[0], ms)
	return c.said(1)
}

func (c *call) redissonRelease() bool {
	var ms int
	count, mine, sure := c.field(&ms)
	if !sure {
		return false
	}
	if !mine {
		c.peer.WriteNull()
		return true
	}
	return c.once(count, ms)
}

func (c *call) redissonLegacyRelease() bool {
	if _, sure := number(c.args[0]); sure && !c.db.Exists(c.keys[0]) {
		c.server.Publish(c.keys[1], "0")
		return c.said(1)
	}
	return c.redissonRelease()
}

// once gives a lock up once that the owner holds so often.
func (c *call) once(count, ms int) bool {
	key := c.keys[0]
	if count > 1 {
		c.db.HSet(key, c.args[1], strconv.Itoa(count-1))
		c.expire(key, ms)
		return c.said(0)
	}
	c.db.Del(key)
	c.server.Publish(c.keys[1], "0")
	return c.said(1)
}
