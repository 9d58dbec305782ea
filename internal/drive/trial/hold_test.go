package trial

import (
	"reflect"
	"testing"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// TestFaultHold checks the hold and the number of clients that a user sets for trials with a fault. The default hold is
// 0.7 leases, and the minimum is three clients. The locks are built-in locks and a user's lock.
func TestFaultHold(t *testing.T) {
	builtIn := lockNamed(t, "set-px")
	theirs := impls.Impl{Name: "theirs", Store: "redis", Deployment: "single", Program: &impls.Program{}}
	for _, lock := range []impls.Impl{builtIn, theirs} {
		c := Cell{Lock: lock, Workload: namedWorkload("counter"), Fault: namedFault("partition")}
		usual := Setting{Params: workloads.Defaults()}.params(c)
		if usual.Hold != faults.UsualTTL*7/10 || usual.Clients != 3 || usual.Processes != 3 {
			t.Errorf("%s: by default %+v", lock.Name, usual)
		}
		set := Setting{Params: workloads.Defaults(), FaultHold: 2 * time.Second, FaultClients: 5}
		p := set.params(c)
		if p.Hold != 2*time.Second || p.Duration != 6*time.Second || p.Grace != 5800*time.Millisecond || p.Clients != 5 || p.Processes != 5 {
			t.Errorf("%s: with a hold of 2 s and five clients %+v", lock.Name, p)
		}
		set.FaultHold, set.FaultClients = 10*time.Millisecond, 2
		if p := set.params(c); p.Hold != 10*time.Millisecond || p.Duration != usual.Duration || p.Clients != 3 {
			t.Errorf("%s: with a hold of 10 ms and two clients %+v", lock.Name, p)
		}
		c.Fault = faults.None()
		p = set.params(c)
		p.Shortest = 0
		if !reflect.DeepEqual(p, set.Params) {
			t.Errorf("%s: without a fault %+v", lock.Name, p)
		}
	}
}

// TestExpectedWithHold checks the expectations of a lock under a fault if the user sets the hold. Only some of the
// expectations must remain.
func TestExpectedWithHold(t *testing.T) {
	for _, c := range []struct {
		lock, fault, property string
		want                  histories.Expected
	}{
		{"set-px-lua", "process-pause", "lease-exclusion", histories.ToHold},
		{"set-px-lua", "process-pause", "owner-release", histories.ToHold},
		{"set-px-lua", "process-pause", "mutual-exclusion", histories.Unspecified},
		{"redisson", "slow-network", "mutual-exclusion", histories.ToHold},
		{"redisson", "slow-network", "progress", histories.Unspecified},
		{"redisson", "partition", "mutual-exclusion", histories.Unspecified},
		{"redisson", "server-restart", "lease-exclusion", histories.Unspecified}, // the violation is expected only for the default hold
		{"mysql-row-ttl", "slow-network", "mutual-exclusion", histories.Unspecified},
	} {
		lock := lockNamed(t, c.lock)
		cell := Cell{Lock: lock, Workload: namedWorkload("counter"), Fault: namedFault(c.fault)}
		s := Setting{Params: workloads.Defaults(), FaultHold: time.Second}
		s.Params = s.params(cell)
		header := cell.header(s, "")
		if got := header.Expectation(c.property).Expected; got != c.want {
			t.Errorf("%s under %s with --hold: %s is expected to be %s, want %s", c.lock, c.fault, c.property, got, c.want)
		}
		s.FaultHold = 0
		header = cell.header(s, "")
		if got := header.Expectation(c.property).Expected; got == histories.Unspecified {
			t.Errorf("%s under %s: nothing is expected of %s by default", c.lock, c.fault, c.property)
		}
	}
}

// TestGrantedLease checks trials of a user's lock, with and without a fault. They must use leases that the lock grants,
// and the workload must know the shortest one.
func TestGrantedLease(t *testing.T) {
	lock := impls.Impl{Name: "theirs", Store: "redis", Deployment: "single", Shortest: 3 * time.Second, Program: &impls.Program{Step: 2 * time.Second}}
	c := Cell{Lock: lock, Workload: namedWorkload("counter"), Fault: faults.None()}
	for asked, want := range map[time.Duration]time.Duration{time.Second: 4 * time.Second, 4 * time.Second: 4 * time.Second, 5 * time.Second: 6 * time.Second} {
		s := Setting{Params: workloads.Defaults(), FaultTTL: asked}
		s.Params.TTL = asked
		c.Fault = faults.None()
		if p := s.params(c); p.TTL != want || p.Shortest != 4*time.Second {
			t.Errorf("a lease of %v is %v in a trial, the shortest %v; want %v and 4 s", asked, p.TTL, p.Shortest, want)
		}
		c.Fault = namedFault("process-pause")
		if p := s.params(c); p.TTL != want || p.Hold != want*7/10 {
			t.Errorf("under a fault a lease of %v is %v, with a hold of %v; want %v", asked, p.TTL, p.Hold, want)
		}
	}
	short := impls.Impl{Store: "redis", Deployment: "single", Program: &impls.Program{Step: time.Second}}
	if p := (Setting{Params: workloads.Defaults()}).params(Cell{Lock: short, Workload: c.Workload, Fault: c.Fault}); p.TTL != time.Second || p.Hold != 700*time.Millisecond {
		t.Errorf("the default under a fault is a lease of %v and a hold of %v, want 1 s and 0.7 s", p.TTL, p.Hold)
	}
	adapted := lock
	adapted.Shortest, adapted.Program = 0, &impls.Program{Step: time.Second}
	if p := (Setting{Params: workloads.Defaults()}).params(Cell{Lock: adapted, Workload: namedWorkload("long-hold"), Fault: faults.None()}); p.TTL%time.Second != 0 {
		t.Errorf("long-hold asks for a lease of %v from a lock that grants whole seconds", p.TTL)
	}
}

// TestBoundOfStore checks that clients may wait for as long as the store takes to free an expired lease, also for a user's lock.
func TestBoundOfStore(t *testing.T) {
	for store, late := range map[string]time.Duration{"redis": 0, "etcd": time.Second, "zookeeper": 200 * time.Millisecond} {
		cell := Cell{Lock: impls.Impl{Name: "own", Store: store, Program: &impls.Program{}}, Workload: namedWorkload("counter")}
		p := workloads.Defaults()
		header := cell.header(Setting{Params: p}, "")
		if got, want := header.FreedWithin(), p.TTL+late+500*time.Millisecond; got != want {
			t.Errorf("%s: %v, want %v", store, got, want)
		}
	}
}
