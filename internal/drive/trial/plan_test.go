package trial

import (
	"fmt"
	"testing"

	"lockbench/impls"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

func TestFitting(t *testing.T) {
	lock := func(deployment string) impls.Impl {
		return impls.Impl{Name: "lock", Store: servers.Redis, Deployment: deployment}
	}
	redis, err := stores.Find(servers.Redis)
	if err != nil {
		t.Fatal(err)
	}
	given := func(n int) (r servers.Remote) {
		for i := range n {
			of, err := redis.Target(fmt.Sprintf("redis://host%d", i), func(string) string { return "" })
			if err != nil {
				t.Fatal(err)
			}
			r.Targets = append(r.Targets, of)
		}
		return r
	}
	for _, c := range []struct {
		lock   impls.Impl
		how    string
		remote servers.Remote
		why    string
	}{
		{impls.Impl{Name: "none"}, servers.External, given(1), ""},
		{lock(servers.Single), servers.External, given(1), ""},
		{lock(servers.Single), servers.External, given(5), ""},
		{lock(servers.Five), servers.External, given(5), ""},
		{lock(servers.Five), servers.External, given(1), "lock is left out: needs 5 servers, but --redis names 1"},
		{lock(servers.Replica), servers.External, given(5), "lock is left out: replication is not supported on your own servers"},
		{lock(servers.Five), servers.Embedded, given(0), ""},
		{lock(servers.Replica), servers.Local, given(0), ""},
		{lock(servers.Replica), servers.Embedded, given(0), "lock is left out: the emulator has no replication: apt install redis-server"},
	} {
		fits, reasons := Fitting([]Cell{{Lock: c.lock}, {Lock: c.lock}}, c.how, c.remote)
		why := ""
		if len(reasons) > 0 {
			why = reasons[0]
		}
		if why != c.why || len(reasons) > 1 || (why == "") != (len(fits) == 2) {
			t.Errorf("%s %s on %s: %d fit, %q, want %q", c.lock.Name, c.lock.Deployment, c.how, len(fits), reasons, c.why)
		}
	}
}
