package trial

import (
	"strings"
	"testing"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// TestDelay checks which delays of server actions make a trial discarded. A restart must end well before the hold does.
// This does not apply to locks without leases or with sessions.
func TestDelay(t *testing.T) {
	own, err := OwnWorker()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		lock, fault string
		verb        faults.Verb
		took        time.Duration
		leaseless   bool
		partly      bool
		discarded   string
	}{
		"in time":           {"mysql-row-ttl", "server-restart", faults.Restart, 900 * time.Millisecond, false, false, ""},
		"too late":          {"mysql-row-ttl", "server-restart", faults.Restart, time.Second, false, false, "the restart of a server took 1s, with a hold of 1.26s in a lease of 1.8s"},
		"without a lease":   {"mysql-row", "server-restart", faults.Restart, time.Minute, true, false, ""},
		"session":           {"zookeeper", "server-restart", faults.Restart, time.Minute, false, false, ""},
		"pause, in time":    {"set-px", "server-pause", faults.Freeze, 180 * time.Millisecond, false, false, ""},
		"pause, too late":   {"set-px", "server-pause", faults.Freeze, 190 * time.Millisecond, false, false, "the freeze of a server took 190ms"},
		"failover":          {"set-px", "failover", faults.Failover, 500 * time.Millisecond, false, false, ""}, // the action failover checks its delay itself
		"planned, too late": {"set-px", "failover", faults.Failover, 500 * time.Millisecond, false, true, "the failover of a server took 500ms"},
	} {
		lock := lockNamed(t, c.lock)
		tr := newTrial(Setting{Params: workloads.Defaults(), Worker: own}, Cell{Lock: lock, Workload: namedWorkload("counter"), Fault: namedFault(c.fault), Partly: c.partly}, t.TempDir(), nil)
		tr.Params = tr.params(tr.Cell)
		tr.world.stalls, tr.world.leased = watchStalls(nil), func() bool { return !c.leaseless }
		tr.world.judgeDelay(faults.Action{Verb: c.verb}, c.took)
		if got := tr.world.stalls.end(time.Hour); !strings.HasPrefix(got, c.discarded) || (got == "") != (c.discarded == "") {
			t.Errorf("%s: %q, want %q", name, got, c.discarded)
		}
	}
}

// TestFaultTTL checks the leases of trials with a fault. A lease is rounded to a value that the lock grants. For servers
// that restart slowly, the default is longer.
func TestFaultTTL(t *testing.T) {
	for _, c := range []struct {
		lock, fault string
		asked, want time.Duration
	}{
		{"set-px", "server-restart", 0, faults.UsualTTL},
		{"mysql-row-ttl", "process-pause", 0, faults.UsualTTL},
		{"mysql-row-ttl", "server-restart", 0, 1800 * time.Millisecond},
		{"mysql-row-ttl", "server-restart", time.Second, time.Second},
		{"zookeeper", "server-restart", 0, faults.UsualTTL},
		{"etcd", "server-restart", 0, 2 * time.Second},
	} {
		lock := lockNamed(t, c.lock)
		if got := (Cell{Lock: lock, Fault: namedFault(c.fault)}).faultTTL(c.asked); got != c.want {
			t.Errorf("%s under %s, with --ttl %v: %v, want %v", c.lock, c.fault, c.asked, got, c.want)
		}
	}
}
