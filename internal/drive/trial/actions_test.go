package trial

import (
	"slices"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// TestActions carries out each action that no built-in fault uses, on real processes and a real server. Each action must
// take effect, and its effect must end.
func TestActions(t *testing.T) {
	t.Parallel()
	needRedis(t)
	own, err := OwnWorker()
	if err != nil {
		t.Fatal(err)
	}
	lock := lockNamed(t, "set-px-lua")
	actions := []faults.Action{{Verb: faults.Empty}, {Verb: faults.ForgetScripts}, {Verb: faults.ReadOnly}, {Verb: faults.Full}, {Verb: faults.Reset},
		{Verb: faults.Pause, Process: -1}, {Verb: faults.Interrupt, Wait: 10 * time.Millisecond, By: 100 * time.Millisecond}}
	var plan faults.Plan
	for i, a := range actions {
		a.Nodes = []int{0}
		step := faults.Step{Name: string(a.Verb), When: faults.Trigger{Later: time.Duration(i+1) * 500 * time.Millisecond}, Do: a}
		switch a.Verb {
		case faults.ReadOnly, faults.Full, faults.Pause:
			step.For = 50 * time.Millisecond
		case faults.Interrupt:
			step.When = faults.Trigger{At: workloads.Moment{Point: workloads.Releasing}, On: &faults.Passing{Nth: 1, Reply: true}}
			step.For = a.By
		}
		plan.Steps = append(plan.Steps, step)
	}
	p := plannedParams()
	p.Clients, p.Processes, p.Duration, p.Hold, p.Habits = 2, 2, 5*time.Second, 40*time.Millisecond, []workloads.Habit{workloads.NamesOddly}
	c, err := Planned("actions", lock, servers.Single, namedWorkload("varied"), p, plan)
	if err != nil {
		t.Fatal(err)
	}
	s := Setting{Run: "test", Servers: servers.Local, Params: workloads.Defaults(), Worker: own}
	_, out := s.tryOnce(t, c)
	var seen []string
	for _, strike := range out.Strikes {
		seen = append(seen, strike.Name)
		if strike.Do.Verb == faults.Pause && len(strike.Clients) != 2 {
			t.Errorf("a pause of all processes affected the clients %v", strike.Clients)
		}
	}
	if out.Missed != "" || len(seen) != len(actions) || !slices.ContainsFunc(out.Verdict.Findings, func(f checker.Finding) bool { return f.Property == "lease-exclusion" }) {
		t.Errorf("carried out: %v; missed: %s", seen, out.Missed)
	}
}

// TestExitOfAClient checks that a program that ends by itself during a hold counts as gone, and that the lock becomes free.
func TestExitOfAClient(t *testing.T) {
	t.Parallel()
	needRedis(t)
	own, err := OwnWorker()
	if err != nil {
		t.Fatal(err)
	}
	plan := faults.Plan{Steps: []faults.Step{{Name: "client-exit", When: faults.Trigger{At: workloads.Moment{Point: workloads.Granted}}, Do: faults.Action{Verb: faults.Exit}}}}
	p := plannedParams()
	p.Clients, p.Processes, p.Duration, p.Hold = 2, 2, 3*p.TTL, 40*time.Millisecond
	c, err := Planned("exit", lockNamed(t, "set-px-lua"), servers.Single, namedWorkload("counter"), p, plan)
	if err != nil {
		t.Fatal(err)
	}
	s := Setting{Run: "test", Servers: servers.Local, Params: workloads.Defaults(), Worker: own}
	_, out := s.tryOnce(t, c)
	if out.Missed != "" || len(out.Strikes) != 1 || !slices.Equal(out.Strikes[0].Clients, []int32{0}) {
		t.Errorf("carried out: %+v; missed: %s", out.Strikes, out.Missed)
	}
	if f := out.Verdict.Finding("recovery"); f.Observed != checker.Held {
		t.Errorf("recovery: %+v", f)
	}
}

// TestPauseOfAnEndedProcess checks that a pause of a process that was killed before is not carried out, and that a process may be killed
// during a pause. The trial counts in both cases.
func TestPauseOfAnEndedProcess(t *testing.T) {
	t.Parallel()
	needRedis(t)
	own, err := OwnWorker()
	if err != nil {
		t.Fatal(err)
	}
	granted := faults.Trigger{At: workloads.Moment{Point: workloads.Granted}}
	later := granted
	later.Later = 100 * time.Millisecond
	kill, pause := faults.Action{Verb: faults.Kill}, faults.Action{Verb: faults.Pause}
	for name, steps := range map[string][]faults.Step{
		"before": {{Name: "kill", When: granted, Do: kill}, {Name: "pause", When: later, Do: pause, For: time.Second}},
		"during": {{Name: "pause", When: granted, Do: pause, For: time.Second}, {Name: "kill", When: later, Do: kill}},
	} {
		p := plannedParams()
		p.Clients, p.Processes, p.Duration, p.Hold = 2, 2, 3*p.TTL, 40*time.Millisecond
		c, err := Planned(name, lockNamed(t, "set-px-lua"), servers.Single, namedWorkload("counter"), p, faults.Plan{Steps: steps})
		if err != nil {
			t.Fatal(err)
		}
		s := Setting{Run: "test", Servers: servers.Local, Params: workloads.Defaults(), Worker: own}
		if _, out := s.tryOnce(t, c); out.Discarded != "" || (out.Missed != "") != (name == "before") {
			t.Errorf("%s: discarded %q, missed %q", name, out.Discarded, out.Missed)
		}
	}
}
