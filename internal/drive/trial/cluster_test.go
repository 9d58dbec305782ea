package trial

import (
	"slices"
	"strings"
	"testing"

	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// TestClusterFailover checks whether two clients hold the lock at once after a failover. They may do so only if the promoted
// replica had not received the first grant.
func TestClusterFailover(t *testing.T) {
	t.Parallel() // the test spends most of its time waiting
	needRedis(t)
	own, err := OwnWorker()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"set-px-lua", "redisson"} {
		for fault, violates := range map[string]bool{"failover": true, "failover-synced": false} {
			t.Run(name+" "+fault, func(t *testing.T) {
				t.Parallel()
				lock := lockNamed(t, name)
				s := Setting{Run: "test", Servers: servers.Local, Params: workloads.Defaults(), Worker: own}
				cell := Cell{Lock: lock, Deployment: servers.Cluster, Workload: namedWorkload(""), Fault: namedFault(fault)}
				violated, _ := s.tryOnce(t, cell)
				if slices.Contains(violated, "lease-exclusion") != violates || slices.Contains(violated, "mutual-exclusion") != violates {
					t.Errorf("violated: %v", violated)
				}
			})
		}
	}
}

// TestWhereALockIsDeployed checks which deployments a lock supports. The error for an unsupported deployment must be one
// sentence.
func TestWhereALockIsDeployed(t *testing.T) {
	for _, c := range []struct{ lock, on, why string }{
		{"set-px-lua", servers.Cluster, ""},
		{"set-px-lua", servers.Sentinel, ""},
		{"redlock", servers.FiveDelayed, ""},
		{"fenced", servers.Cluster, "one slot"},
		{"redlock", servers.Single, "another number of servers"},
		{"set-px-lua", "moon", "no deployment"},
		{"local-mutex", servers.Single, "uses no server"},
	} {
		lock := lockNamed(t, c.lock)
		err := Deployed(lock, c.on)
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s@%s: %v", c.lock, c.on, err)
		}
	}
}

// TestNotOnACluster checks that a plan omits faults that do not apply to a cluster, and gives a reason.
func TestNotOnACluster(t *testing.T) {
	lock := lockNamed(t, "set-px-lua")
	for fault, fits := range map[string]bool{"failover": true, "server-pause": true, "partition": true, "eviction": false, "server-restart": false, "clock-forward": false} {
		c := Cell{Lock: lock, Deployment: servers.Cluster, Workload: namedWorkload(""), Fault: namedFault(fault)}
		if why := c.unclustered(); (why == nil) != fits {
			t.Errorf("%s: %v", fault, why)
		}
	}
}
