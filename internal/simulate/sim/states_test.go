package sim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/drive/faults"
)

// TestStates checks that each state of a server affects a lock. A read-only server must accept writes after it is
// healed.
func TestStates(t *testing.T) {
	ctx := context.Background()
	inWorld(t, "set-px-lua", func(w *world) {
		lock := w.processes[0].lock
		acquire := func(key string) (impls.Hold, error) {
			return lock.Acquire(ctx, impls.Request{Key: key, Owner: "o", TTL: time.Minute})
		}
		h, err := acquire("k")
		heal := injectFault(t, w, faults.Action{Verb: faults.ReadOnly, Nodes: []int{0}})
		if refused := lock.Release(ctx, h.Grant); err != nil || refused == nil || !strings.HasPrefix(refused.Error(), "READONLY") {
			t.Errorf("acquire: %v; release on a read-only server: %v", err, refused)
		}
		if _, err := acquire("other"); err == nil || !strings.HasPrefix(err.Error(), "READONLY") {
			t.Errorf("acquire on a read-only server: %v", err)
		}
		heal()
		if err := lock.Release(ctx, h.Grant); err != nil {
			t.Errorf("release after the server was read-only: %v", err)
		}
		h, _ = acquire("k")
		sent := w.net.links[0][0].commands.Load()
		if _, err := w.Do(ctx, faults.Action{Verb: faults.ForgetScripts, Nodes: []int{0}}); err != nil {
			t.Error(err)
		}
		if err, n := lock.Release(ctx, h.Grant), w.net.links[0][0].commands.Load(); err != nil || n-sent != 2 {
			t.Errorf("release after the script was forgotten: %v, in %d commands, want EVALSHA and EVAL", err, n-sent)
		}
		h, _ = acquire("k")
		if _, err := w.Do(ctx, faults.Action{Verb: faults.Empty, Nodes: []int{0}}); err != nil {
			t.Error(err)
		}
		if err := lock.Release(ctx, h.Grant); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("release after the data was deleted: %v", err)
		}
		if closed := w.net.links[0][0].Reset(); closed == 0 || w.net.links[0][0].Reset() != 0 {
			t.Errorf("%d connections closed", closed)
		}
		if _, err := acquire("k"); err == nil || errors.Is(err, impls.ErrBusy) {
			t.Errorf("acquire on a closed connection: %v", err)
		}
	})
}

// TestAllProcesses checks a pause of process -1. It must stop the clients of every process, and ClientsOf must list all
// of them.
func TestAllProcesses(t *testing.T) {
	inWorld(t, "set-px-lua", func(w *world) {
		heal := injectFault(t, w, faults.Action{Verb: faults.Pause, Process: -1})
		for i, p := range w.processes {
			if p.paused() != (i < w.aimed()) {
				t.Errorf("process %d of %d is paused: %t", i, w.aimed(), p.paused())
			}
		}
		heal()
		if w.processes[0].paused() || len(w.ClientsOf(-1)) != w.clients {
			t.Errorf("paused %t, clients %v", w.processes[0].paused(), w.ClientsOf(-1))
		}
	})
}
