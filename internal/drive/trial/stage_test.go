package trial

import (
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// TestStage runs trials one after another on one stage. No trial may affect a later trial. A killed process is replaced,
// a cut is healed, a server that lost its data is used again, and keys are not shared.
func TestStage(t *testing.T) {
	lock := lockNamed(t, "set-px-lua")
	own, err := OwnWorker()
	if err != nil {
		t.Fatal(err)
	}
	s := Setting{Run: "stage", Servers: "local", Worker: own}
	stage, err := s.Stage(lock)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
	}()
	p := workloads.Defaults()
	p.Clients, p.Processes, p.TTL, p.Hold, p.Duration, p.Think = 3, 3, 400*time.Millisecond, 20*time.Millisecond, 700*time.Millisecond, time.Millisecond
	granted := faults.Trigger{At: workloads.Moment{Client: 0, Point: workloads.Granted}}
	for _, c := range []struct {
		name string
		plan faults.Plan
	}{
		{"kill", faults.Plan{Steps: []faults.Step{{When: granted, Do: faults.Action{Verb: faults.Kill, Process: 0}}}}},
		{"nothing after a kill", faults.Plan{}},
		{"cut", faults.Plan{Steps: []faults.Step{{When: granted, Do: faults.Action{Verb: faults.Cut, Process: 1}, For: 300 * time.Millisecond}}}},
		{"nothing after a cut", faults.Plan{}},
		{"abandon", faults.Plan{Steps: []faults.Step{{When: granted, Do: faults.Action{Verb: faults.Abandon, Client: 0}}}}},
		{"lost reply", faults.Plan{Steps: []faults.Step{{When: faults.Trigger{At: granted.At, On: &faults.Passing{Process: 0, Nth: 1, Reply: true}},
			Do: faults.Action{Verb: faults.Lose, Silent: true}}}}},
		{"nothing after a lost reply", faults.Plan{}},
		{"down", faults.Plan{Steps: []faults.Step{{When: granted, Do: faults.Action{Verb: faults.Down, Nodes: []int{0}}}}}},
		{"nothing after the server is gone", faults.Plan{}},
	} {
		cell, err := Planned("explored", lock, lock.Deployment, namedWorkload("counter"), p, c.plan)
		if err != nil {
			t.Fatal(err)
		}
		played := playUntilVerified(t, stage, cell, c.name)
		v := played.Verdict
		if f := v.Finding("lease-exclusion"); f.Observed == checker.Violated {
			t.Errorf("%s: %s: %s", c.name, f.Property, f.Witness.Sentence)
		}
		unknown := 0
		for _, l := range played.Lines {
			if !l.Mark && l.Op.Return >= 0 && l.Op.Kind.String() == "acquire" && l.Op.Outcome == 0 {
				unknown++
			}
		}
		if len(c.plan.Steps) == 0 && (v.Counts.Grants < 10 || unknown > 0) {
			t.Errorf("%s: %d grants, %d acquires with an unknown outcome: %+v", c.name, v.Counts.Grants, unknown, v.Counts)
		}
	}
}

// playUntilVerified plays a cell until its faults were verified. On a busy machine, clients may send nothing during a
// short cut. The trial is then discarded.
func playUntilVerified(t *testing.T, stage *Stage, cell Cell, name string) Played {
	t.Helper()
	for try := 1; ; try++ {
		played, err := stage.Play(t.Context(), cell)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if played.Missed == "" {
			return played
		}
		if try == 5 {
			t.Fatalf("%s: discarded %d times: %s", name, try, played.Missed)
		}
	}
}

// TestSpends checks which faults leave no servers or processes for the next trial on a stage.
func TestSpends(t *testing.T) {
	for verb, want := range map[faults.Verb]bool{faults.Pause: false, faults.Kill: false, faults.Restart: false,
		faults.Jump: true, faults.Failover: true, faults.ClientJump: true, faults.ClientDrift: true} {
		cell := lasting(t, lockNamed(t, "set-px-lua"), time.Second, faults.Step{Do: faults.Action{Verb: faults.Pause}})
		cell.Fault.Plan = func(faults.Scene) faults.Plan {
			return faults.Plan{Steps: []faults.Step{{Do: faults.Action{Verb: verb}}}}
		}
		if got := cell.Spends(); got != want {
			t.Errorf("%s: got %t, want %t", verb, got, want)
		}
	}
}
