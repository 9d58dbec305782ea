package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	"lockbench/internal/drive/faults"
)

// TestScripts runs every script in thousands of random states of the store, in a reused interpreter and in the emulator.
// The replies, the data and the published messages must be equal.
func TestScripts(t *testing.T) {
	states := 2000
	if raced {
		states = 100
	}
	for _, s := range readScripts(t) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			emulator, other := newStore(true), newStore(false)
			defer emulator.close()
			defer other.close()
			for seed := range uint64(states) {
				args := emulator.arrange(rand.New(rand.NewPCG(seed, 1)), s)
				other.arrange(rand.New(rand.NewPCG(seed, 1)), s)
				before := emulator.contents()
				want, got := emulator.eval(s.Source, args), other.eval(s.Source, args)
				if want, got = want+emulator.contents(), got+other.contents(); want != got {
					t.Fatalf("%q after\n%sin the emulator\n%sand in an interpreter\n%s", args, before, want, got)
				}
			}
		})
	}
}

// luaScript is a script that locks run on a server.
type luaScript struct{ Name, Source string }

func readScripts(t *testing.T) []luaScript {
	files, err := filepath.Glob("../../../impls/redis/lua/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts were found: %v", err)
	}
	const shared = "fenced_mint" // the beginning of three other scripts
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimSuffix(filepath.Base(file), ".lua")] = string(text)
	}
	var all []luaScript
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		switch text := texts[name]; name {
		case shared:
		case "fenced_acquire", "fenced_release", "fenced_raise":
			all = append(all, luaScript{name, texts[shared] + text})
		default:
			all = append(all, luaScript{name, text})
		}
	}
	return all
}

// store is an emulated server with a stopped clock and a subscriber.
type store struct {
	*miniredis.Miniredis
	hears *miniredis.Subscriber
	all   sync.WaitGroup

	mu    sync.Mutex
	heard []string
}

func newStore(slow bool) *store {
	s := &store{Miniredis: (&node{slow: slow}).newServer()}
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

// eval returns the reply to a script and the messages that it published.
func (s *store) eval(source string, args []string) string {
	var answer bytes.Buffer
	peer := server.NewPeer(bufio.NewWriter(&answer))
	s.Server().Dispatch(peer, append([]string{"EVAL", source}, args...))
	peer.Flush()
	s.Publish("fe", "that was all") // messages arrive in order, so s.heard is complete when this message arrives
	s.Publish("fe", "that was all")
	s.mu.Lock()
	defer s.mu.Unlock()
	heard := slices.DeleteFunc(s.heard, func(m string) bool { return m == "fe that was all" })
	s.heard = nil
	return fmt.Sprintf("%q heard %q\n", answer.String(), heard)
}

// contents returns all keys of the store with their values and expiry times.
func (s *store) contents() string {
	var all strings.Builder
	for _, key := range s.Keys() {
		list, _ := s.List(key) // Dump would truncate long values
		fmt.Fprintf(&all, "%s, left %v %q\n", key, s.TTL(key), list)
	}
	return all.String() + s.Dump()
}

// Owners and leases in the tested states of the store.
var (
	names  = []string{"aa", "bb", "cc"}
	leases = []string{"1000", "1", "250", "0", "-5", "007", "x"}
)

// Values from which the test randomly chooses tokens, subscribers, queue entries and holds of the lock "fenced".
var (
	tokens  = []string{strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("c", 32), strings.Repeat("0", 32)}
	hears   = strings.Repeat("fe", 16)
	entries = []string{
		tokens[0] + " " + hears + " 300 aa",
		tokens[1] + " " + tokens[1] + " 300 bb",
		tokens[2] + " " + hears + " 0 cc c",
		tokens[1] + " " + hears + " 20 b\nb",
		"nonsense",
		tokens[0] + " " + hears + " 3 0 x",
		tokens[0] + " " + hears + " 300 ",
	}
	holds = []string{"nonsense", tokens[0] + " x aa", tokens[0] + " 1", tokens[0] + " 0 aa", tokens[0] + " 01 aa", tokens[0] + " 1 "}
)

// arrange puts the store into a random state. It returns the arguments for running the script with EVAL.
func (s *store) arrange(r *rand.Rand, script luaScript) []string {
	s.FlushAll()
	some := func(of ...string) string { return of[r.IntN(len(of))] }
	often := func(usual string, of ...string) string {
		if r.IntN(12) > 0 {
			return usual
		}
		return some(of...)
	}
	s.arrangeLock(r, script, some, often)
	keys := []string{"lock"}
	if strings.HasSuffix(script.Name, "release") && strings.HasPrefix(script.Name, "redisson") {
		keys = append(keys, "a1:channel")
	}
	if slices.Contains([]string{"fenced_acquire", "fenced_release", "fenced_raise"}, script.Name) {
		keys = append(keys, "queue", "fences")
	}
	lease := often(some(leases[:3]...), leases...)
	args := map[string][]string{
		"compare_and_delete":  {some(names...)},
		"compare_and_pexpire": {some(names...), lease},
		"fenced_acquire":      {often(some(tokens[:3]...), "short"), some("clock", "count"), some(names...), lease, some("", entries[0], entries[1]), some("", "1"), some("", tokens[0], tokens[1])},
		"fenced_release":      {some(tokens...), some("clock", "count"), some("", "", entries[0], entries[1]), ""},
		"fenced_renew":        {some(tokens...), lease},
		"fenced_raise":        {},
	}[script.Name]
	if args == nil {
		args = []string{lease, some(names...)}
	}
	return slices.Concat([]string{often(strconv.Itoa(len(keys)), "0", "9", "x")}, keys, args)
}

// arrangeLock sets the key of a lock to a random state: unset, held, or a value of a type that the lock does not use.
func (s *store) arrangeLock(r *rand.Rand, script luaScript, some func(...string) string, often func(string, ...string) string) {
	switch kind := r.IntN(20); {
	case kind < 5:
		return
	case kind == 5:
		_, _ = s.Push("lock", "a list")
	case strings.HasPrefix(script.Name, "compare"), kind == 6:
		_ = s.Set("lock", some(names...))
	case strings.HasPrefix(script.Name, "fenced"):
		s.arrangeFenced(r, some, often)
		return
	case strings.HasPrefix(script.Name, "redisson"):
		s.HSet("lock", some(names...), often(some("1", "1", "2", "3"), "0", "-1", "x", "", "01", "9007199254740993"))
	}
	if r.IntN(4) > 0 {
		s.SetTTL("lock", time.Duration(1+r.IntN(3_000_000))*time.Microsecond)
	}
}

// arrangeFenced stores a random state of the lock "fenced": a hold, or none, a queue of waiters, and the last fencing token. Occasionally
// one of them is invalid.
func (s *store) arrangeFenced(r *rand.Rand, some func(...string) string, often func(string, ...string) string) {
	if r.IntN(4) > 0 {
		_ = s.Set("lock", often(some(tokens[:3]...)+" "+some("1", "1+", "2")+" "+some(names...), holds...))
		if r.IntN(8) > 0 {
			s.SetTTL("lock", time.Duration(1+r.IntN(3_000_000))*time.Microsecond)
		}
	}
	for range r.IntN(4) {
		_, _ = s.Push("queue", often(some(entries[:4]...), entries...))
	}
	if r.IntN(3) > 0 {
		_ = s.Set("fences", often(some("7", "99999999999998", "99999999999999", "1764196800000000"), "x", "", "9007199254740993"))
	}
}

// TestScriptsRecordTheSame checks every lock that uses Lua scripts. A trial must record the same history with this
// package's Lua interpreter as with that of the emulator miniredis.
func TestScriptsRecordTheSame(t *testing.T) {
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
				trial.Plan = anyPlan(rand.New(rand.NewPCG(seed, 7)), trial.Params, serverCount[trial.On()])
			}
			var files [2]bytes.Buffer
			for i := range files {
				trial.slow = i > 0
				if _, err := trial.Run(&files[i]); err != nil {
					t.Fatalf("%s, seed %d: %v", l.Name, seed, err)
				}
			}
			if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
				t.Errorf("%s, seed %d, %+v: interpreter and emulator recorded different histories", l.Name, seed, trial.Plan)
			}
		}
	}
}
