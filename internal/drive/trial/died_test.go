package trial

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// TestServerThatDied checks the error of a trial whose server is killed during the trial. The error must name the server, not
// the lock, as the cause.
func TestServerThatDied(t *testing.T) {
	needRedis(t)
	lock := lockNamed(t, "set-px-lua")
	s := Setting{Run: "test", Servers: servers.Local, Params: workloads.Defaults()}
	s.Pace = func(ctx context.Context, r Running) {
		if err := r.Group.Nodes[0].Kill(); err != nil {
			t.Error(err)
		}
	}
	c := Cell{Lock: lock, Workload: namedWorkload("counter"), Fault: faults.None()}
	if _, err := s.Try(t.Context(), c, t.TempDir(), 0, &atomic.Int64{}); err == nil || !strings.Contains(err.Error(), "the redis server at 127.0.0.1:") {
		t.Errorf("%v", err)
	}
}
