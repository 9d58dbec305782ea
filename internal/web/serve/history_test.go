package serve

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/histories"
	"lockbench/reports/run"
)

// serverWith starts a server for a folder that contains one trial with a history.
func serverWith(t testing.TB, ops []histories.Op) *Server {
	t.Helper()
	dir := t.TempDir()
	writeHistory(t, filepath.Join(dir, "run", "cell", "001"), histories.Header{Lock: "x"}, ops)
	write(t, filepath.Join(dir, "run", "run.json"), `{"lockbench_run":1,"name":"x","command":"","seed":0,"servers":"","environment":{},"plan":[]}`)
	return serverOf(t, dir)
}

const trialFile = "run/cell/001/" + run.HistoryName

// TestWindow checks the operations and holds in a window of a history. The window must contain all operations and
// holds that overlap its period, and no others. Each must have its true end time.
func TestWindow(t *testing.T) {
	s := serverWith(t, overlapping("k0"))
	for _, c := range []struct {
		name                  string
		from, to              time.Duration
		client, key           string
		ops                   []string
		holds, shared, shares int
	}{
		{"all", 0, 61 * msec, "", "", []string{"0 acquire", "0 inject", "1 acquire", "1 write", "0 heal", "0 release", "1 release", "2 acquire", "2 release"}, 3, 1, 3},
		{"within a hold", 16 * msec, 18 * msec, "", "", []string{"1 acquire"}, 1, 0, 2},
		{"within both", 24 * msec, 24*msec + msec/2, "", "", nil, 2, 1, 2},
		{"at the end of a call", 61 * msec, 62 * msec, "", "", []string{"2 release"}, 0, 0, 1},
		{"one client", 0, 61 * msec, "1", "", []string{"1 acquire", "1 write", "1 release"}, 1, 1, 1},
		{"another key", 0, 61 * msec, "", "k1", []string{"0 inject", "0 heal"}, 0, 0, 1},
		{"nothing", 45 * msec, 46 * msec, "", "", nil, 0, 0, 0},
	} {
		w, err := s.windowOf(t.Context(), trialFile, view{From: c.from, To: c.to, Client: c.client, Key: c.key, until: 61 * msec})
		if err != nil {
			t.Fatal(err)
		}
		var ops []string
		for _, op := range w.Ops {
			ops = append(ops, fmt.Sprint(op.Client, " ", op.Kind))
		}
		if !slices.Equal(ops, c.ops) || w.Count != len(c.ops) || len(w.Holds) != c.holds || w.OverlapCount != c.shared || len(w.Clients) != c.shares {
			t.Errorf("%s: %q (%d), %d holds, %d overlaps, %d clients, want %+v", c.name, ops, w.Count, len(w.Holds), w.OverlapCount, len(w.Clients), c)
		}
		for _, h := range w.Holds {
			if !h.Ended {
				t.Errorf("%s: a hold that ends after the window has no end", c.name)
			}
		}
	}
}

// TestOverlaps checks which pairs of holds are reported as an overlap.
func TestOverlaps(t *testing.T) {
	grant := func(client, life int32, hold int64, at time.Duration, depth uint16) histories.Op {
		return histories.Op{Client: client, Life: life, Hold: hold, Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Depth: depth, Due: at - msec, Call: at - msec, Return: at}
	}
	release := func(client, life int32, hold int64, at time.Duration, depth uint16) histories.Op {
		return histories.Op{Client: client, Life: life, Hold: hold, Kind: histories.Release, Outcome: histories.OK, Key: "k", Depth: depth, Due: at, Call: at, Return: at + msec/2}
	}
	for name, c := range map[string]struct {
		ops  []histories.Op
		want []string
	}{
		"one after the other":  {[]histories.Op{grant(0, 0, 1, 10*msec, 0), release(0, 0, 1, 20*msec, 0), grant(1, 0, 2, 20*msec, 0), release(1, 0, 2, 30*msec, 0)}, nil},
		"re-entry":             {[]histories.Op{grant(0, 0, 1, 10*msec, 1), grant(0, 0, 2, 15*msec, 2), release(0, 0, 2, 20*msec, 2), release(0, 0, 1, 30*msec, 1)}, nil},
		"three":                {[]histories.Op{grant(0, 0, 1, 10*msec, 0), grant(1, 0, 2, 15*msec, 0), grant(2, 0, 3, 18*msec, 0), release(0, 0, 1, 20*msec, 0), release(1, 0, 2, 25*msec, 0), release(2, 0, 3, 30*msec, 0)}, []string{"15ms-25ms clients 0, 1, 2"}},
		"another life":         {[]histories.Op{grant(0, 0, 1, 10*msec, 0), grant(0, 1, 2, 15*msec, 0), release(0, 1, 2, 20*msec, 0)}, []string{"15ms-20ms client 0 twice"}},
		"for ever":             {[]histories.Op{grant(0, 0, 1, 10*msec, 0), grant(1, 0, 2, 15*msec, 0), release(1, 0, 2, 40*msec, 0)}, []string{"15ms-40ms clients 0, 1"}},
		"notified of a loss":   {[]histories.Op{grant(0, 0, 1, 10*msec, 0), {Client: 0, Hold: 1, Kind: histories.Lost, Outcome: histories.OK, Key: "k", Due: 12 * msec, Call: 12 * msec, Return: 13 * msec}, grant(1, 0, 2, 15*msec, 0), release(1, 0, 2, 20*msec, 0)}, nil},
		"gone":                 {[]histories.Op{grant(0, 0, 1, 10*msec, 0), {Client: 0, Kind: histories.Inject, Outcome: histories.OK, Fault: "holder-kill", Value: histories.Gone, Due: 12 * msec, Call: 12 * msec, Return: 13 * msec}, grant(1, 0, 2, 15*msec, 0), release(1, 0, 2, 20*msec, 0)}, nil},
		"a release unanswered": {[]histories.Op{grant(0, 0, 1, 10*msec, 0), {Client: 0, Hold: 1, Kind: histories.Release, Key: "k", Due: 12 * msec, Call: 12 * msec, Return: histories.StillOpen}, grant(1, 0, 2, 15*msec, 0), release(1, 0, 2, 20*msec, 0)}, nil},
	} {
		o, err := serverWith(t, c.ops).overviewOf(t.Context(), trialFile)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range o.Overlaps {
			got = append(got, fmt.Sprintf("%v-%v %s", v.From, v.To, v.Who()))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestLongHistory checks the pages of a history with 200,000 operations. A page that covers the whole history must
// not exceed 2 MiB. To show only the start of the history, the server must not read all of it.
func TestLongHistory(t *testing.T) {
	const sections = 100_000
	s := serverWith(t, sound(8, sections))
	h := s.Handler("127.0.0.1")
	all := get(h, "/history/run/cell/001?from=0&to=999999999")
	checkText(t, "all of it", all.Body.String(), []string{"200,000 operations", "too many to draw each", "The first 300 of 200,000"}, nil)
	if n := all.Body.Len(); n > 2<<20 {
		t.Errorf("the page has %d bytes", n)
	}
	part := get(h, "/history/run/cell/001?from=100000&to=100020")
	checkText(t, "a part", part.Body.String(), []string{"acquire", "release", "client 1"}, []string{"too many to draw"})
	if n := strings.Count(part.Body.String(), `class="hold"`); n < 9 || n > 12 {
		t.Errorf("%d holds are drawn in 20 ms", n)
	}
	o, err := s.overviewOf(t.Context(), trialFile)
	if err != nil || o.Ops != 2*sections || len(o.Clients) != 8 || o.Until < 199*time.Second {
		t.Fatalf("%+v, %v", o, err)
	}
	total := 0
	for _, b := range o.Buckets {
		total += b.Ops
	}
	if total != o.Ops {
		t.Errorf("the strip has %d of %d operations", total, o.Ops)
	}
	read := 0
	_, _, err = s.replay(t.Context(), trialFile, func(e histories.Event) error {
		if read++; e.Time() > time.Second {
			return errEnough
		}
		return nil
	})
	if err != nil || read > sections/10 {
		t.Errorf("%d events were read of one second: %v", read, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.windowOf(cancelled, trialFile, view{To: time.Second, until: time.Second}); !errors.Is(err, context.Canceled) {
		t.Errorf("the request was cancelled: %v", err)
	}
}

// TestTornHistory checks that the page of an invalid history shows the part before the error, and the error.
func TestTornHistory(t *testing.T) {
	s := serverWith(t, overlapping("k0"))
	for name, text := range map[string]string{
		"malformed":    "{\"lockbench\":1}\n{\"client\":0,\"hold\":1,\"kind\":\"acquire\",\"outcome\":\"ok\",\"key\":\"k\",\"call\":1000000,\"return\":2000000}\n{\"mark\":3000000}\n{\"cli\n{\"mark\":4000000}\n",
		"no such kind": "{\"lockbench\":1}\n{\"client\":0,\"hold\":1,\"kind\":\"acquire\",\"outcome\":\"ok\",\"key\":\"k\",\"call\":1000000,\"return\":2000000}\n{\"mark\":3000000}\n{\"client\":0,\"kind\":\"sing\"}\n",
	} {
		write(t, filepath.Join(s.dir, "run", "cell", "002", run.HistoryName), text)
		w := get(s.Handler("127.0.0.1"), "/history/run/cell/002")
		checkText(t, name, w.Body.String(), []string{"is shown up to an error", "client 0"}, nil)
		if w.Code != 200 {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	write(t, filepath.Join(s.dir, "run", "cell", "003", run.HistoryName), "not a history")
	if w := get(s.Handler("127.0.0.1"), "/history/run/cell/003"); w.Code != 422 || !strings.Contains(w.Body.String(), "cannot be read") {
		t.Errorf("%d %.300s", w.Code, w.Body)
	}
	write(t, filepath.Join(s.dir, "run", "cell", "004", run.HistoryName), "{\"lockbench\":1}\n")
	if w := get(s.Handler("127.0.0.1"), "/history/run/cell/004"); w.Code != 200 || !strings.Contains(w.Body.String(), "No operations in this window") {
		t.Errorf("an empty history: %d %.300s", w.Code, w.Body)
	}
}

// TestMoves checks the start and end times of views after moves and zooms. The views must stay within the history.
func TestMoves(t *testing.T) {
	v := view{From: 40 * msec, To: 60 * msec, until: 100 * msec}
	for name, c := range map[string]struct {
		got      view
		from, to time.Duration
	}{
		"in": {v.In(), 45 * msec, 55 * msec}, "out": {v.Out(), 30 * msec, 70 * msec}, "left": {v.Left(), 30 * msec, 50 * msec}, "right": {v.Right(), 50 * msec, 70 * msec},
		"home": {v.Home(), 0, 20 * msec}, "end": {v.End(), 80 * msec, 100 * msec}, "all": {v.All(), 0, 100 * msec},
		"left at the start": {v.Home().Left(), 0, 20 * msec}, "right at the end": {v.End().Right(), 80 * msec, 100 * msec},
		"out of all": {v.All().Out(), 0, 100 * msec}, "around": {v.around(-5, 1<<62), 0, 100 * msec},
	} {
		if c.got.From != c.from || c.got.To != c.to {
			t.Errorf("%s: %v to %v, want %v to %v", name, c.got.From, c.got.To, c.from, c.to)
		}
	}
}

// FuzzView checks that every valid query selects a view within the history. It also checks that formatting this view as
// a query, and parsing that query, gives the same view.
func FuzzView(f *testing.F) {
	for _, q := range []string{"", "from=1&to=2", "from=1.5", "to=0.000001", "from=9e9&to=x", "from=-1", "from=1&to=1", "client=3&key=k0", "client=harness", "client=4294967296",
		"key=%3Cscript%3E", "from=99999999999999999999999999", "from=0.0000001&to=0.0000002", "from=NaN&to=Inf", "from=1/3&to=2", "client=-1", "from=.&to=.."} {
		f.Add(q, int64(5_000_000_000))
	}
	f.Fuzz(func(t *testing.T, query string, n int64) {
		q, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		until := time.Duration(max(0, n)) % histories.Forever
		standard := func() (time.Duration, time.Duration) { return 0, until / 2 }
		v, err := parseView(q, until, standard)
		if err != nil {
			if !strings.Contains(err.Error(), "want") && !strings.Contains(err.Error(), "must") && !strings.Contains(err.Error(), "longer") {
				t.Errorf("%q: %v does not say what is allowed", query, err)
			}
			return
		}
		for _, w := range []view{v, v.In(), v.Out(), v.Left(), v.Right(), v.Home(), v.End(), v.All(), v.around(v.From, v.To)} {
			if w.From < 0 || w.To <= w.From || w.To > w.until || w.To-w.From < narrowest {
				t.Errorf("%q: %v to %v of %v", query, w.From, w.To, w.until)
			}
			again, err := url.ParseQuery(strings.TrimPrefix(w.Query(), "?"))
			if err != nil {
				t.Fatal(err)
			}
			if back, err := parseView(again, until, standard); err != nil || back != w {
				t.Errorf("%q: %+v is %+v again, %v", query, w, back, err)
			}
		}
	})
}

func TestHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"see " + withPass + " there":              "see redis://***@db.example:6379/0 there",
		`href="?key=redis%3a%2f%2fu%3as3cret%40h`: `href="?key=redis://***@h`,
		"no address a@b":                          "no address a@b",
		"a\u202eb\u2066c\u200bd":                  "a\uFFFDb\uFFFDc\uFFFDd",
		"a\x00b\x1b[31m\tc\nd":                    "a\uFFFDb\uFFFD[31m\tc\nd",
		"äöü שלום 漢字":                             "äöü שלום 漢字",
	} {
		if got := string(harmless([]byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
