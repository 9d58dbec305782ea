package trial

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// TestTask checks that the task of a cell describes the same trial on another machine: its history has the same header, and the fault has
// the same plan.
func TestTask(t *testing.T) {
	s := Setting{Run: "test", Servers: "local", Params: workloads.Defaults(), FaultTTL: time.Second, FaultHold: 300 * time.Millisecond, FaultClients: 4, Trials: 3}
	cells := Plan(catalog.Known(), workloads.All(), faults.All())
	if len(cells) < 1000 {
		t.Fatalf("%d cells", len(cells))
	}
	for _, c := range append(cells, Cell{Lock: cells[0].Lock, Workload: namedWorkload("counter"), Fault: namedFault("partition"), Scenario: "named", Partly: true}) {
		text, err := json.Marshal(s.Task(c, 2))
		if err != nil {
			t.Fatal(err)
		}
		var task Task
		if err := json.Unmarshal(text, &task); err != nil {
			t.Fatal(err)
		}
		there, err := task.cell(c.Lock)
		if err != nil {
			t.Fatal(err)
		}
		here := s // what Try makes of the setting
		here.Params.Seed += 2
		here.Params, here.LockParams = here.params(c), here.lockParams(c)
		other := Setting{Run: task.Run, Params: task.Params, LockParams: task.LockParams, FaultHold: task.FaultHold}
		if got, want := there.header(other, "redis"), c.header(here, "redis"); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: header\n%+v\nwant\n%+v", c, got, want)
		}
		if there.Dir() != c.Dir() || there.InProcesses() != c.InProcesses() || there.Partly != c.Partly || there.Spends() != c.Spends() {
			t.Errorf("%s: there %s", c.Dir(), there.Dir())
		}
		if c.faulty() && !reflect.DeepEqual(there.Fault.Plan(scene(there, task.Params)), c.Fault.Plan(scene(c, here.Params))) {
			t.Errorf("%s: another plan", c)
		}
	}
	if _, err := (Task{Lock: cells[0].Lock.Name, Workload: "none such"}).cell(cells[0].Lock); err == nil {
		t.Error("an unknown workload")
	}
}
