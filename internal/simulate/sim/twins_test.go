package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"lockbench/impls/catalog"
	redislocks "lockbench/impls/redis"
	"lockbench/internal/drive/faults"
)

// TestTwins runs every script and its twin on stores in some thousands of states, and compares what is answered, what
// the store is left with, and what was published.
func TestTwins(t *testing.T) {
	for _, s := range redislocks.Scripts() {
		t.Run(s.Name, func(t *testing.T) {
			twin, known := twins[s.Name]
			if !known {
				t.Fatal("it has no twin")
			}
			if hash := hashOf(s.Source); twin.hash != hash {
				t.Errorf("the script is another than the one that its twin was made for, and is run itself: if no difference is reported, the twin can have the hash %s", hash)
				twin.hash = hash
			}
			twin.source = s.Source
			difference, sure := compared(t, twin, 2000)
			if difference != "" {
				t.Error(difference)
			}
			if sure < 800 {
				t.Errorf("the twin was sure in %d of 2000 states", sure)
			}
		})
	}
	if len(twins) != len(redislocks.Scripts()) {
		t.Errorf("%d twins of %d scripts", len(twins), len(redislocks.Scripts()))
	}
}

// TestAWrongTwinIsToldApart gives scripts twins that are nearly right.
func TestAWrongTwinIsToldApart(t *testing.T) {
	wrong := map[string]func(*call) bool{
		"compare_and_delete": func(c *call) bool { c.db.Del(c.keys[0]); return c.said(1) },
		"redisson_acquire": func(c *call) bool { // it gives no new lease
			defer c.db.SetTTL(c.keys[0], c.db.TTL(c.keys[0]))
			return c.redissonAcquire()
		},
		"redisson_release": func(c *call) bool { // it tells nobody
			c.keys = []string{c.keys[0], "elsewhere"}
			return c.redissonRelease()
		},
		"fenced_release": func(c *call) bool { // it changes something and then leaves it to the script
			_, _ = c.db.Lpop(c.keys[0])
			return c.fencedRelease()
		},
		"fenced_renew": func(c *call) bool { return c.said(1) },
	}
	for _, s := range redislocks.Scripts() {
		twin := twinsOf()[s.Source]
		if twin.do = wrong[s.Name]; twin.do == nil {
			continue
		}
		if difference, _ := compared(t, twin, 2000); difference == "" {
			t.Errorf("nothing tells a wrong %s from the right one", s.Name)
		}
	}
}

// compared runs a script on one emulator and its twin on another, each time from the same state, and tells the first
// difference; sure is how often the twin did not leave it to the script.
func compared(t *testing.T, twin twin, states int) (difference string, sure int) {
	t.Helper()
	script, other := newStore(), newStore()
	defer script.close()
	defer other.close()
	for seed := range uint64(states) {
		args := script.arrange(rand.New(rand.NewPCG(seed, 1)), twin)
		other.arrange(rand.New(rand.NewPCG(seed, 1)), twin)
		before := script.contents()
		want := script.asks(func(p *server.Peer) { script.Server().Dispatch(p, append([]string{"EVAL", twin.source}, args...)) })
		got := other.asks(func(p *server.Peer) {
			if twin.answers(other.Miniredis, p, args) {
				sure++
				return
			}
			other.Server().Dispatch(p, append([]string{"EVAL", twin.source}, args...))
		})
		want, got = want+script.contents(), got+other.contents()
		if want != got {
			return fmt.Sprintf("of %q after\n%sthe script says and leaves\n%sand its twin\n%s", args, before, want, got), sure
		}
	}
	return "", sure
}

// store is an emulator whose clock stands still and of which somebody hears what is published.
type store struct {
	*miniredis.Miniredis
	hears *miniredis.Subscriber
	all   sync.WaitGroup

	mu    sync.Mutex
	heard []string
}

func newStore() *store {
	s := &store{Miniredis: (&node{lua: true}).begin()}
	s.SetTime(time.Unix(1e9, 0))
	s.hears = s.NewSubscriber()
	s.hears.Subscribe("a1:channel")
	s.hears.Subscribe("fe")
	s.hears.Subscribe(hears)
	s.all.Go(func() {
		for m := range s.hears.Messages() {
			s.mu.Lock()
			s.heard = append(s.heard, m.Channel+" "+m.Message)
			s.mu.Unlock()
		}
	})
	return s
}

func (s *store) close() {
	s.hears.Close()
	s.all.Wait()
	s.Close()
}

// asks returns the answer as it is sent, and what was heard.
func (s *store) asks(do func(*server.Peer)) string {
	var answer bytes.Buffer
	peer := server.NewPeer(bufio.NewWriter(&answer))
	do(peer)
	peer.Flush()
	s.Publish("fe", "that was all") // it is taken when all before it was kept
	s.Publish("fe", "that was all")
	s.mu.Lock()
	defer s.mu.Unlock()
	heard := slices.DeleteFunc(s.heard, func(m string) bool { return m == "fe that was all" })
	s.heard = nil
	return fmt.Sprintf("%q heard %q\n", answer.String(), heard)
}

// contents are all keys with what is left of them.
func (s *store) contents() string {
	var all strings.Builder
	for _, key := range s.Keys() {
		list, _ := s.List(key) // whole: a dump cuts what is long
		fmt.Fprintf(&all, "%s, left %v %q\n", key, s.TTL(key), list)
	}
	return all.String() + s.Dump()
}

// Those who hold and ask in the states.
var (
	names  = []string{"aa", "bb", "cc"}
	leases = []string{"1000", "1", "250", "0", "-5", "007", "x"}
)

// What there may be of the lock fenced, who asks for it with what token, and what they may write in the queue.
var (
	tokens  = []string{strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("c", 32), strings.Repeat("0", 32)}
	hears   = strings.Repeat("fe", 16)
	entries = []string{
		tokens[0] + " " + hears + " 0000000300 aa",
		tokens[1] + " " + tokens[1] + " 0000000300 bb",
		tokens[2] + " " + hears + " 0000000000 cc c",
		tokens[1] + " " + hears + " 0000000020 b\nb",
		"nonsense",
		tokens[0] + " " + hears + " 00000003 0 x",
		tokens[0] + " " + hears + " 0000000300 ",
	}
	places  = []string{hears + " 0000000300", tokens[1] + " 0000000300"} // as they are in the first entries
	records = []string{"nonsense", tokens[0] + " 0000000000000007 000000000x 9000000000000000 0000001000 aa", tokens[0] + " 7 1 1 1 aa",
		tokens[0] + " 0000000000000007 0000000000 9000000000000000 0000001000 aa", tokens[0] + " 0000000000000007 0000000001 9000000000000000 000000100x aa"}
	tenDigits = []string{"0000001000", "0000000001", "0000000250", "0000000000", "7", "-000000001", "x"}
)

// arrange puts the store into a state and returns the arguments of the script, as they follow in an EVAL.
func (s *store) arrange(r *rand.Rand, t twin) []string {
	s.FlushAll()
	some := func(of ...string) string { return of[r.IntN(len(of))] }
	often := func(usual string, of ...string) string {
		if r.IntN(12) > 0 {
			return usual
		}
		return some(of...)
	}
	s.arrangeLock(r, t, some, often)
	keys := []string{"lock", "a1:channel"}[:t.keys]
	lease := often(some(leases[:3]...), leases...)
	tenDigits := often(some(tenDigits[:3]...), tenDigits...)
	args := map[string][]string{
		"compare_and_delete":  {some(names...)},
		"compare_and_pexpire": {some(names...), lease},
		"fenced_acquire":      {often(some(tokens[:3]...), "short"), some(names...), tenDigits, some("", places[0], places[1]), some("", "1"), some("clock", "count"), some("", tokens[0], tokens[1])},
		"fenced_release":      {some(tokens...), some("", "", entries[0], entries[1]), "", some("clock", "count")},
		"fenced_renew":        {some(tokens...), tenDigits},
	}[nameOf(t)]
	if args == nil {
		args = []string{lease, some(names...)}
	}
	return slices.Concat([]string{often(strconv.Itoa(t.keys), "0", "9", "x")}, keys, args)
}

// arrangeLock leaves the lock free, held in one of several ways, or of another type.
func (s *store) arrangeLock(r *rand.Rand, t twin, some func(...string) string, often func(string, ...string) string) {
	switch kind := r.IntN(20); {
	case kind < 5:
		return
	case kind == 5:
		_, _ = s.Push("lock", "a list")
	case strings.HasPrefix(nameOf(t), "compare"), kind == 6:
		_ = s.Set("lock", some(names...))
	case strings.HasPrefix(nameOf(t), "fenced"):
		s.arrangeFenced(r, some, often)
		return
	case strings.HasPrefix(nameOf(t), "redisson"):
		s.HSet("lock", some(names...), often(some("1", "1", "2", "3"), "0", "-1", "x", "", "01", "9007199254740993"))
	}
	if r.IntN(4) > 0 {
		s.SetTTL("lock", time.Duration(1+r.IntN(3_000_000))*time.Microsecond)
	}
}

// arrangeFenced leaves the list of the lock fenced, free or held, for some time or until now, with a queue.
func (s *store) arrangeFenced(r *rand.Rand, some func(...string) string, often func(string, ...string) string) {
	const now = 1_000_000_000_000_000
	record := fence{token: some(tokens[:3]...), fence: []int{7, now - 1, now, now + 7}[r.IntN(4)], depth: 1 + r.IntN(3)/2, owner: some(names...), lease: r.IntN(2000)}
	switch kind := r.IntN(6); {
	case kind == 0:
		record.since, record.lease = 0, 0
	case kind < 3: // it is over about now
		record.since = now - record.lease*1000 + r.IntN(3) - 1
	default:
		record.since = now - r.IntN(record.lease*1000+1)
	}
	_, _ = s.Push("lock", often(record.String(), records...))
	for range r.IntN(4) {
		_, _ = s.Push("lock", often(some(entries[:4]...), entries...))
	}
	if r.IntN(20) == 0 {
		s.SetTTL("lock", time.Second)
	}
}

// nameOf is the script's name.
func nameOf(t twin) string {
	all := redislocks.Scripts()
	return all[slices.IndexFunc(all, func(s redislocks.Script) bool { return s.Source == t.source })].Name
}

// TestTwinsRecordTheSame runs trials of every lock with scripts and with their twins: not a byte differs.
func TestTwinsRecordTheSame(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	for _, l := range catalog.OnRedis() {
		trial := faultTrial(l, faults.None(), counter(t), l.Deployment)
		if l.Store == "" || trial.Refused() != nil {
			continue
		}
		trial.Fault = "any"
		for seed := range uint64(6) {
			trial.Params.Seed = seed
			if trial.Plan = (faults.Plan{}); seed > 0 {
				trial.Plan = anyPlan(rand.New(rand.NewPCG(seed, 7)), trial.Params, servers[trial.On()])
			}
			var files [2]bytes.Buffer
			for i := range files {
				trial.Scripts = i > 0
				if _, err := trial.Run(&files[i]); err != nil {
					t.Fatalf("%s, seed %d: %v", l.Name, seed, err)
				}
			}
			if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
				t.Errorf("%s, seed %d, %+v: twins and scripts recorded different histories", l.Name, seed, trial.Plan)
			}
		}
	}
}
