package inject

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/histories"
	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// slow is a World that takes some time to verify each action.
type slow struct{ nowhere }

const untilSeen = 30 * time.Millisecond

func (slow) Do(context.Context, faults.Action) (Effect, error) {
	time.Sleep(untilSeen)
	return Effect{Heal: func() error { return nil }}, nil
}

// TestPauseLasts checks that the time to verify a pause is not counted as part of the pause.
func TestPauseLasts(t *testing.T) {
	for _, c := range []struct {
		verb faults.Verb
		want time.Duration
	}{{faults.Pause, 100 * time.Millisecond}, {faults.Freeze, 130 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			var file bytes.Buffer
			rec, err := histories.NewRecorder(&file, histories.Header{}, 3)
			if err != nil {
				t.Fatal(err)
			}
			in := New("test", faults.Plan{Steps: []faults.Step{{When: faults.Trigger{At: moment(0, workloads.Granted), Later: time.Millisecond},
				Do: faults.Action{Verb: c.verb}, For: 100 * time.Millisecond}}}, slow{}, rec)
			in.At(t.Context(), moment(0, workloads.Granted))
			time.Sleep(time.Second)
			if why := in.Finish(); why != "" {
				t.Error(why)
			}
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			ops := allOps(t, &file)
			var stood time.Duration
			for _, op := range ops {
				switch op.Kind {
				case histories.Inject:
					stood -= op.Call
				case histories.Heal:
					stood += op.Call
				}
			}
			if stood != c.want {
				t.Errorf("%s: healed after %v, want %v: %+v", c.verb, stood, c.want, ops)
			}
		})
	}
}

// TestSpent checks Order.Spent, the time that counts as part of the holder's work. The time of a restart counts. The
// time of other actions does not.
func TestSpent(t *testing.T) {
	for verb, want := range map[faults.Verb]time.Duration{faults.Restart: untilSeen, faults.Failover: 0} {
		synctest.Test(t, func(t *testing.T) {
			at := moment(0, workloads.Granted)
			in, _ := injecting(t, faults.Plan{Steps: []faults.Step{{When: faults.Trigger{At: at}, Do: faults.Action{Verb: verb}}}})
			in.world = slow{}
			if got := in.At(t.Context(), at).Spent; got != want {
				t.Errorf("%s: %v, want %v", verb, got, want)
			}
			in.Finish()
		})
	}
}
