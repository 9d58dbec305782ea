package decision

import (
	"testing"
	"time"

	record "lockbench/histories"
)

// TestPauses checks which holds count as paused and which paused holds count as overlapping.
func TestPauses(t *testing.T) {
	const key = "k0"
	grant := func(client int32, hold int64, at time.Duration) record.Op {
		return record.Op{Client: client, Hold: hold, Kind: record.Acquire, Outcome: record.OK, Key: key, Depth: 1, Call: at - 1, Return: at}
	}
	release := func(client int32, hold int64, at time.Duration) record.Op {
		return record.Op{Client: client, Hold: hold, Kind: record.Release, Key: key, Call: at, Return: at + 1}
	}
	pause := func(client int32, at time.Duration) record.Op {
		return record.Op{Client: client, Kind: record.Inject, Fault: PauseFault, Call: at, Return: at + 2}
	}
	lost := func(client int32, hold int64, at time.Duration) record.Op {
		return record.Op{Client: client, Hold: hold, Kind: record.Lost, Outcome: record.OK, Key: key, Call: at, Return: at + 1}
	}
	elsewhere := grant(1, 2, 30)
	elsewhere.Key = "k1"
	refused := grant(1, 2, 30)
	refused.Outcome = record.Refused
	again := grant(0, 2, 30)
	again.Depth = 2
	work := pause(0, 20)
	work.Fault = "longer-work"
	gone := pause(0, 40)
	gone.Fault, gone.Value = "holder-kill", record.Gone
	for _, c := range []struct {
		name string
		ops  []record.Op
		want Paused
	}{
		{"the next is granted after the release", []record.Op{grant(0, 1, 10), pause(0, 20), release(0, 1, 50), grant(1, 2, 60)}, Paused{1, 0}},
		{"before the release", []record.Op{grant(0, 1, 10), pause(0, 20), grant(1, 2, 30), release(0, 1, 50)}, Paused{1, 1}},
		{"a grant that ends before the release", []record.Op{grant(0, 1, 10), pause(0, 20), grant(1, 2, 30), release(1, 2, 35), release(0, 1, 50)}, Paused{1, 1}},
		{"before the loss is reported", []record.Op{grant(0, 1, 10), pause(0, 20), grant(1, 2, 30), lost(0, 1, 40), release(0, 1, 50)}, Paused{1, 1}},
		{"after the loss", []record.Op{grant(0, 1, 10), pause(0, 20), lost(0, 1, 25), grant(1, 2, 30), release(0, 1, 50)}, Paused{1, 0}},
		{"another key", []record.Op{grant(0, 1, 10), pause(0, 20), elsewhere, release(0, 1, 50)}, Paused{1, 0}},
		{"a refusal", []record.Op{grant(0, 1, 10), pause(0, 20), refused, release(0, 1, 50)}, Paused{1, 0}},
		{"its own re-entry", []record.Op{grant(0, 1, 10), pause(0, 20), again, release(0, 1, 50)}, Paused{1, 0}},
		{"no pause", []record.Op{grant(0, 1, 10), grant(1, 2, 30), release(0, 1, 50)}, Paused{}},
		{"another fault", []record.Op{grant(0, 1, 10), work, grant(1, 2, 30), release(0, 1, 50)}, Paused{}},
		{"a pause of another", []record.Op{grant(0, 1, 10), pause(2, 20), grant(1, 2, 30), release(0, 1, 50)}, Paused{}},
		{"a pause between holds", []record.Op{grant(0, 1, 10), release(0, 1, 12), pause(0, 20), grant(1, 2, 30), release(1, 2, 50)}, Paused{}},
		{"two pauses in one hold", []record.Op{grant(0, 1, 10), pause(0, 20), pause(0, 24), release(0, 1, 50)}, Paused{1, 0}},
		{"two holds", []record.Op{grant(0, 1, 10), pause(0, 20), grant(1, 2, 30), release(1, 2, 40), release(0, 1, 50), grant(0, 3, 60), pause(0, 62), release(0, 3, 70)}, Paused{2, 1}},
		{"a hold that never ended", []record.Op{grant(0, 1, 10), pause(0, 20), grant(1, 2, 30)}, Paused{}},
		{"a client that has ended", []record.Op{grant(0, 1, 10), pause(0, 20), grant(1, 2, 30), gone, lost(0, 1, 50)}, Paused{}},
	} {
		got, err := pausesIn(record.Ops(c.ops))
		if err != nil || got != c.want {
			t.Errorf("%s: %+v (%v), want %+v", c.name, got, err, c.want)
		}
	}
}
