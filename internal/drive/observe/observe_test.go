package observe

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/world/servers"
)

func entry(name string, hash uint64, left time.Duration) servers.Entry {
	return servers.Entry{Name: name, Hash: hash, Left: left}
}

// TestMajority checks which entries a majority of five servers have, and for how long.
func TestMajority(t *testing.T) {
	const k = "k"
	for _, c := range []struct {
		title string
		read  [][]servers.Entry
		want  []servers.Entry
	}{
		{"one server", [][]servers.Entry{{entry(k, 7, 5)}}, []servers.Entry{entry(k, 7, 5)}},
		{"two of five", [][]servers.Entry{{entry(k, 7, 5)}, {entry(k, 7, 5)}, {}, {}, {}}, nil},
		{"the third longest lease", [][]servers.Entry{{entry(k, 7, 5)}, {entry(k, 7, 9)}, {}, {entry(k, 7, 3)}, {entry(k, 7, 4)}}, []servers.Entry{entry(k, 7, 4)}},
		{"no expiry is longest", [][]servers.Entry{{entry(k, 7, servers.Unending)}, {entry(k, 7, 9)}, {entry(k, 7, 8)}}, []servers.Entry{entry(k, 7, 9)}},
		{"other content does not count", [][]servers.Entry{{entry(k, 7, 5)}, {entry(k, 8, 9)}, {entry(k, 8, 9)}, {entry(k, 7, 3)}, {entry(k, 7, 4)}}, []servers.Entry{entry(k, 7, 3)}},
		{"no content has a majority", [][]servers.Entry{{entry(k, 7, 5)}, {entry(k, 8, 9)}, {entry(k, 9, 4)}}, []servers.Entry{entry(k, mixed, 5)}},
	} {
		if got := majority(c.read); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.title, got, c.want)
		}
	}
}

// TestRecord checks which observations are recorded, and how.
func TestRecord(t *testing.T) {
	rec, memory := histories.NewMemory(histories.Header{}, 1)
	w := NewWatch(nil, Keys{Prefix: "p:", Names: []string{"k1", "k10"}, TTL: 80}, rec)
	for entry, want := range map[string]string{"p:k1": "k1", "lib:p:k10:x": "k10", "p:k1:fence": "k1", "p:0:k1": "k1", "{p:k1}": "k1", "p:k12:k1": "k1",
		"p:k2": "", "q:k1": "", "p:k11": "", "p:ak1": ""} {
		if got := w.keyOf(entry); got != want {
			t.Errorf("%s belongs to %q, want %q", entry, got, want)
		}
	}
	first := []servers.Entry{entry("p:k1", 7, 50), entry("p:k1:n", 9, servers.Unending)}
	w.record("k1", nil, 1)
	w.record("k1", first, 2)
	w.record("k1", first, 5)       // not recorded: nothing changed
	w.record("k1", first, 13)      // recorded: an eighth of the TTL has passed
	w.record("k1", first[1:], 14)  // recorded: an entry vanished
	w.record("k10", first[:1], 15) // recorded: entries are numbered separately for each key
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	type short struct {
		key   string
		call  time.Duration
		depth uint16
		fence int64
		left  time.Duration
	}
	var got []short
	for _, l := range memory.Lines {
		if op := l.Op; !l.Mark {
			got = append(got, short{op.Key, op.Call, op.Depth, op.Fence, op.Validity})
		}
	}
	want := []short{{"k1", 1, 0, 0, 0}, {"k1", 2, 2, 1, 50}, {"k1", 2, 2, 2, histories.Unbounded}, {"k1", 13, 2, 1, 50},
		{"k1", 13, 2, 2, histories.Unbounded}, {"k1", 14, 1, 2, histories.Unbounded}, {"k10", 15, 1, 1, 50}}
	if !slices.Equal(got, want) {
		t.Errorf("recorded\n%v, want\n%v", got, want)
	}
}

// TestManyEntries checks lock keys with many entries. Entries beyond the first few must count as one, with the longest
// of their leases.
func TestManyEntries(t *testing.T) {
	k := &key{numbers: map[string]int64{}}
	var all []servers.Entry
	for i := range 3 * maxEntries {
		all = append(all, entry(string(rune('a'+i)), uint64(i+1), time.Duration(i)))
	}
	got := k.numbered(all)
	if last := got[len(got)-1]; len(got) != maxEntries || k.numbers[last.Name] != maxEntries || last.Left != 3*maxEntries-1 {
		t.Errorf("%d entries, the last %+v with number %d", len(got), last, k.numbers[last.Name])
	}
	if again := k.numbered(all[2*maxEntries:]); len(again) != 1 {
		t.Errorf("%d entries, want 1", len(again))
	}
}

// holders is a lock that answers probes from a table of tokens by key.
type holders map[string]string

func (h holders) Probe(_ context.Context, key string) (string, time.Duration, error) {
	switch token := h[key]; token {
	case "forever":
		return token, impls.Unbounded, nil
	case "fails":
		return "", 0, errors.New("no answer")
	default:
		return token, 5 * time.Millisecond, nil
	}
}

// TestProbes checks the entries that are made from a lock's answers to probes.
func TestProbes(t *testing.T) {
	p := probes{holders{"a": "x", "b": "", "c": "forever", "d": "x"}, Keys{Prefix: "p:", Names: []string{"a", "b", "c", "d"}}}
	all, err := p.Entries(t.Context(), "p:")
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	if a := all[0]; a.Name != "p:a" || a.Left != 6*time.Millisecond || a.Hash != all[2].Hash || a.Hash == all[1].Hash {
		t.Errorf("%+v of %+v", a, all)
	}
	if c := all[1]; c.Name != "p:c" || c.Left != servers.Unending {
		t.Errorf("%+v", c)
	}
	p.Prober = holders{"d": "fails"}
	if all, err := p.Entries(t.Context(), "p:"); err == nil {
		t.Errorf("%v although a probe failed", all)
	}
}
