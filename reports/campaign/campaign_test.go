package campaign

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestKeep checks that the state is written at once and at the end, and read back.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	var done atomic.Int64
	done.Store(5)
	k, err := Keep(dir, func() State {
		return State{Verb: "explore", What: "fenced", Unit: "seed", Done: int(done.Load()), UnderWay: []string{"fenced"}, Agents: []Agent{{"here-1", 2, 1, 3, false}, {"there-2", 8, 0, 0, true}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	first := read(t, dir)
	if first.Done != 5 || !first.Ended.IsZero() || first.Started.IsZero() || first.Slots() != 2 || first.Agents[0].Running != 1 || first.UnderWay == nil {
		t.Errorf("first %+v", first)
	}
	done.Store(9)
	if err := k.End(true, "nothing"); err != nil {
		t.Fatal(err)
	}
	last := read(t, dir)
	if last.Done != 9 || last.Ended.IsZero() || !last.Interrupted || last.UnderWay != nil || last.Found != "nothing" || last.Agents[0].Running != 0 || last.Agents[0].Done != 3 {
		t.Errorf("last %+v", last)
	}
	if _, err := Keep(filepath.Join(dir, StateName), func() State { return State{} }); err == nil {
		t.Error("the folder is a file, and no error was returned")
	}
}

func read(t *testing.T, dir string) (s State) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, StateName))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmp.Or(json.Unmarshal(text, &s), s.Check()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPerSecond(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		state State
		want  float64
	}{
		{State{Started: start, Written: start.Add(4 * time.Second), Done: 8}, 2},
		{State{Started: start, Written: start.Add(time.Hour), Ended: start.Add(2 * time.Second), Done: 8}, 4},
		{State{Started: start, Written: start, Done: 8}, 0},
	} {
		if got := c.state.PerSecond(); got != c.want {
			t.Errorf("%+v: got %v, want %v", c.state, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for version, want := range map[int]string{0: "not the state of a campaign", Version: "", Version + 1: "use a newer lockbench"} {
		if err := (State{Version: version}).Check(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("version %d: error %v, want %q", version, err, want)
		}
	}
}
