package trial

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/histories"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// needRedis skips the test if redis-server is missing. It fails the test if the environment requires redis-server.
func needRedis(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), "redis-server") {
		t.Fatal("redis-server is not on the PATH, and LOCKBENCH_REQUIRE names it")
	}
	t.Skip("redis-server is not on the PATH: apt install redis-server")
}

// acted is a test case: a fault, a lock, and the inject and heal operations that the history must contain.
type acted struct {
	fault, lock string
	injected    string // clients in the inject operations, in order; "harness" for a server fault
	healed      string // clients in the heal operations, in order
}

// actedOut returns a test case for each fault except "none".
func actedOut() []acted {
	return []acted{
		{"holder-stall", "set-px", "0", "0"},
		{"process-pause", "fenced", "0", "0"},
		{"pause-before-answer", "set-px-lua", "0", "0"},
		{"pause-in-release", "set-px-getdel", "0", "0"},
		{"holder-kill", "redisson", "0", ""},
		{"holder-abandon", "blind-renewal", "0", ""},
		{"kill-between", "setnx-expire", "0", ""},
		{"cancelled-acquire", "setnx", "0", "0"},
		{"slow-network", "redlock", "harness", "harness"},
		{"lost-reply", "setnx", "0", ""},
		{"lost-reply-silent", "set-px-lua", "0", ""},
		{"partition", "fenced", "0", "0"},
		{"partition-one-way", "redisson", "0", "0"},
		{"delayed-release", "set-px-getdel", "0", "0"},
		{"lost-wakeup", "redisson", "harness", "harness"},
		{"session-kill", "etcd", "harness", ""},
		{"half-open", "etcd", "0 0", "0"},
		{"leader-loss", "etcd", "harness", ""},
		{"server-restart", "fenced", "harness", ""},
		{"server-pause", "redisson", "harness", "harness"},
		{"failover", "set-px-wait", "harness harness", ""},
		{"failover-synced", "set-px-lua", "harness", ""},
		{"clock-forward", "redlock", "0 harness", "0"},
		{"clock-back", "set-px-lua", "0 harness", ""},
		{"node-restart", "redlock", "0 harness", "0"},
		{"minority-down", "redlock", "harness", ""},
		{"eviction", "set-px-lua", "harness", ""},
	}
}

// TestEachFault injects every fault once. The fault must take effect and be recorded for the right client. Every
// expectation must be met.
func TestEachFault(t *testing.T) {
	t.Parallel()
	own, err := OwnWorker()
	if err != nil {
		t.Fatal(err)
	}
	all := actedOut()
	for _, f := range faults.All() {
		if f.Plan != nil && !f.Workers && !slices.ContainsFunc(all, func(a acted) bool { return a.fault == f.Name }) {
			t.Errorf("no row injects %s", f.Name)
		}
	}
	for _, a := range all {
		t.Run(a.fault, func(t *testing.T) {
			t.Parallel()
			a.act(t, own)
		})
	}
}

func (a acted) act(t *testing.T, own []string) {
	lock := lockNamed(t, a.lock)
	c := Cell{Lock: lock, Workload: namedWorkload(""), Fault: namedFault(a.fault)}
	s := Setting{Run: "test", Servers: servers.Embedded, Params: workloads.Defaults(), Worker: own, Self: own[0]}
	if c.Fault.Kind == faults.Servers && lock.Store == servers.Redis {
		needRedis(t)
	}
	if c.Fault.Kind == faults.Servers {
		s.Servers = servers.Local
	}
	_, out := s.tryOnce(t, c)
	injected, healed := recorded(t, out)
	if injected != a.injected || healed != a.healed {
		t.Errorf("injected: %q, healed: %q; want %q and %q", injected, healed, a.injected, a.healed)
	}
}

// recorded returns the clients in the inject operations of a trial's history, and the clients in the heal operations.
// Both lists are in the order of the history.
func recorded(t *testing.T, out Outcome) (injected, healed string) {
	t.Helper()
	r, err := histories.Open(filepath.Join(out.Dir, "history.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return strings.TrimSpace(injected), strings.TrimSpace(healed)
		} else if err != nil {
			t.Fatal(err)
		}
		who := " harness"
		if l.Op.Client != histories.Harness {
			who = fmt.Sprint(" ", l.Op.Client)
		}
		switch {
		case l.Op.Kind != histories.Inject && l.Op.Kind != histories.Heal, l.Op.Open(): // skip an unfinished operation; it is recorded again with its outcome
		case l.Op.Outcome != histories.OK || l.Op.Fault != out.Header.Fault:
			t.Errorf("%s of %s: %s %s", l.Op.Kind, l.Op.Fault, l.Op.Outcome, l.Op.Error)
		case l.Op.Kind == histories.Inject:
			injected += who
		default:
			healed += who
		}
	}
}
