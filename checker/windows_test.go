package checker

import (
	"testing"
	"time"

	"lockbench/histories"
)

// TestHoldThatNeverEnds: a hold whose client is gone keeps the oracle's windows open. They are searched all
// the same when they are too many, and where that turns out to have been rash nothing is claimed.
func TestHoldThatNeverEnds(t *testing.T) {
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
		o := newOracle(false, 0, lived(), promised())
		f := newFacts(histories.Header{Version: 1, Slack: 1, TTL: 5})
		monitors := map[string]judgement{}
		for _, p := range Properties() {
			if x, ok := p.open(f).(monitor); ok {
				o.watch(x)
				monitors[p.Name] = x.(judgement)
			}
		}
		p := newProjection(1, func(k *key, h *hold, c change) {
			for _, x := range monitors {
				x.change(k, h, c)
			}
			if c == closed {
				o.add(k, h)
			}
		})
		most := 0
		cover, err := histories.Replay(histories.Ops(ops), func(ev histories.Event) error {
			for _, view := range o.keys {
				if len(view) > 0 && view[0].stream != nil {
					most = max(most, len(view[0].stream.waiting))
				}
			}
			p.event(p.key(ev.Op.Key), ev)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f.until = cover.Until
		p.finish()
		mutual, lease := monitors["mutual-exclusion"].finding(), monitors["lease-exclusion"].finding()
		if said := o.judge(); len(said.Disagreements) > 0 || (said.Undecided > 0) != renewed {
			t.Errorf("renewed %t: %+v", renewed, said)
		}
		if mutual.Observed != Violated || (lease.Observed == Violated) != renewed {
			t.Errorf("renewed %t: mutual-exclusion %s, lease-exclusion %s", renewed, mutual.Observed, lease.Observed)
		}
		if most > 3*maxWaiting {
			t.Errorf("%d instants were kept", most)
		}
	}
}
