package oracle

import (
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/checker/properties"
	"lockbench/histories"
)

// TestEndlessHold checks that a long history is searched for violations even if one hold never ends. If that hold is
// renewed after the search, the result must be undecided.
func TestEndlessHold(t *testing.T) {
	for _, renewed := range []bool{false, true} {
		op := func(client int32, number int64, kind histories.Kind, call, ret, validity time.Duration) histories.Op {
			return histories.Op{Client: client, Hold: number, Kind: kind, Outcome: histories.OK, Key: "a", Call: call, Return: ret, Validity: validity}
		}
		ops := []histories.Op{op(0, 1, histories.Acquire, 0, 1, 5)}
		now := time.Duration(10)
		for i := range int64(30_000) {
			ops = append(ops, op(1, i+2, histories.Acquire, now, now+1, 5), op(1, i+2, histories.Release, now+4, now+5, 0))
			now += 6
		}
		if renewed {
			ops = append(ops, op(0, 1, histories.Renew, now, now+1, 5))
		}
		o := New(false, 0, projection.Lived(), projection.Promised())
		f := properties.NewFacts(histories.Header{Version: 1, Slack: 1, TTL: 5})
		monitors := map[string]properties.Judgement{}
		for _, p := range properties.All() {
			if x, ok := p.Open(f).(Monitor); ok {
				o.Watch(x)
				monitors[p.Name] = x.(properties.Judgement)
			}
		}
		p := projection.New(1, func(k *projection.Key, h *projection.Hold, c projection.Change) {
			for _, x := range monitors {
				x.Change(k, h, c)
			}
			if c == projection.Closed {
				o.Add(k, h)
			}
		})
		most := 0
		cover, err := histories.Replay(histories.Ops(ops), func(ev histories.Event) error {
			for _, view := range o.keys {
				if len(view) > 0 && view[0].stream != nil {
					most = max(most, len(view[0].stream.waiting))
				}
			}
			p.Event(p.Key(ev.Op.Key), ev)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f.Until = cover.Until
		p.Finish()
		mutual, lease := monitors["mutual-exclusion"].Finding(), monitors["lease-exclusion"].Finding()
		if said := o.Judge(); len(said.Disagreements) > 0 || (said.Undecided > 0) != renewed {
			t.Errorf("renewed %t: %+v", renewed, said)
		}
		if mutual.Observed != checker.Violated || (lease.Observed == checker.Violated) != renewed {
			t.Errorf("renewed %t: mutual-exclusion %s, lease-exclusion %s", renewed, mutual.Observed, lease.Observed)
		}
		if most > 3*maxWaiting {
			t.Errorf("%d moments were queued", most)
		}
	}
}
