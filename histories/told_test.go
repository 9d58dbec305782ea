package histories

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestTell checks that operations recorded by Tell are replayed in order of time, even if marks were written before
// Tell. It also checks that an acquire with an unknown outcome increases Op.Life.
func TestTell(t *testing.T) {
	var file bytes.Buffer
	rec, err := NewRecorder(&file, Header{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	late, other := rec.Log(0), rec.Log(1)
	began := late.Begin()
	for range 3 {
		time.Sleep(time.Millisecond)
		other.Call(Op{Kind: Read, Key: "k"})
		other.Return(Result{Outcome: OK})
		if err := rec.Mark(0); err != nil {
			t.Fatal(err)
		}
	}
	late.Tell(Op{Kind: Acquire, Key: "k", Call: began, Return: began + 1}, Op{Kind: Acquire, Outcome: OK, Key: "k", Call: began + 2, Return: rec.Since()})
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	last := time.Duration(0)
	cover, err := Replay(r.Next, func(ev Event) error {
		if ev.Time() < last {
			t.Errorf("%v comes after %v", ev.Time(), last)
		}
		last = ev.Time()
		got = append(got, fmt.Sprintf("%d.%d%s%t", ev.Op.Client, ev.Op.Life, ev.Op.Kind, ev.Return))
		return nil
	})
	want := "0.0acquirefalse 0.0acquiretrue 0.1acquirefalse" + strings.Repeat(" 1.0readfalse 1.0readtrue", 3) + " 0.1acquiretrue"
	if text := strings.Join(got, " "); err != nil || text != want || cover.Ops != 5 || cover.LeftOut != 0 {
		t.Errorf("%s (%+v, %v), want %s", text, cover, err, want)
	}
}
