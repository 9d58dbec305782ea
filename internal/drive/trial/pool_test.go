package trial

import (
	"context"
	"testing"

	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
)

// TestPool checks that concurrent trials never share servers, and that returned servers are lent again.
func TestPool(t *testing.T) {
	var p Pool
	lend := func() (*servers.Group, func() error) {
		t.Helper()
		g, giveBack, err := p.Lend(t.Context(), servers.Spec{How: servers.Embedded, Store: servers.Redis, Deployment: servers.Single})
		if err != nil {
			t.Fatal(err)
		}
		return g, giveBack
	}
	a, doneA := lend()
	b, doneB := lend()
	if a == b {
		t.Fatal("two trials have the same servers")
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(doneA())
	c, doneC := lend()
	if c != a {
		t.Error("servers are started although there are some")
	}
	d, doneD := lend()
	if d == c || d == b {
		t.Error("two trials have the same servers")
	}
	must(doneB())
	must(doneC())
	must(doneD())
	must(p.Close())
	if _, err := a.Nodes[0].Counters(t.Context()); err == nil {
		t.Error("a server answers after Close")
	}
	e, doneE := lend()
	if e == a || e == b || e == d {
		t.Error("servers that were stopped are lent")
	}
	must(doneE())
	must(p.Close())
}

// TestHarmedServersAreNotLent checks that a trial with a server fault starts its servers outside the pool.
func TestHarmedServersAreNotLent(t *testing.T) {
	lent := servers.Group{}
	for _, c := range []struct {
		kind faults.Kind
		want bool
	}{{faults.Nothing, true}, {faults.Clients, true}, {faults.Network, true}, {faults.Servers, false}} {
		one := &trial{Cell: Cell{Lock: impls.Impl{Store: servers.Redis, Deployment: servers.Single}, Fault: faults.Fault{Kind: c.kind}},
			Setting: Setting{Servers: servers.Embedded, Lend: func(context.Context, servers.Spec) (*servers.Group, func() error, error) {
				return &lent, func() error { return nil }, nil
			}}}
		g, done, err := one.servers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if (g == &lent) != c.want {
			t.Errorf("%s: lent: %t, want %t", c.kind, g == &lent, c.want)
		}
		if err := done(); err != nil {
			t.Error(err)
		}
	}
}
