package bench_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/reports/bench"
)

// folder writes generated bench results to a temporary folder. It returns the folder, and the results read from it.
func folder(t *testing.T, o options) (string, *bench.Results) {
	t.Helper()
	dir := t.TempDir()
	o.OnlyFigures = true
	if err := writeFolder(dir, o); err != nil {
		t.Fatal(err)
	}
	r, err := bench.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

// quick returns bench results without latency curves, to save time.
func quick(t *testing.T, o options) *bench.Results {
	t.Helper()
	o.OnlyFigures = true
	return read(t, o)
}

const (
	free        = "uncontended-16c-16k-0ms"
	contended4  = "contended-4c-1k-1ms"
	contended16 = "contended-16c-1k-1ms"
)

func row(t *testing.T, r *bench.Results, subject, point string) *bench.Row {
	t.Helper()
	found, ok := r.Row(subject, point)
	if !ok {
		t.Fatalf("no row of %s at %s", subject, point)
	}
	return found
}

func TestSoundBench(t *testing.T) {
	r := quick(t, options{})
	if len(r.Withheld) > 0 {
		t.Errorf("withheld: %v", r.Withheld)
	}
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
		if !c.OK || c.Seen == "" {
			t.Errorf("%+v", c)
		}
	}
	if want := []string{"broken-lock", "known-delay", "stalled-generator", "same-lock-twice"}; !slices.Equal(names, want) {
		t.Errorf("checks %v, want %v", names, want)
	}
	fenced := row(t, r, "fenced", contended16)
	if fenced.Trials != 10 || fenced.Discarded != 0 || fenced.Unsafe != nil || fenced.Limited != "" || fenced.Unsteady != 0 {
		t.Errorf("%+v", fenced)
	}
	goodput := fenced.Estimates["goodput"]
	if goodput.N != 10 || goodput.Low == nil || *goodput.Low > goodput.Median || *goodput.High < goodput.Median || goodput.Confidence < 0.95 {
		t.Errorf("goodput %+v", goodput)
	}
	if n := row(t, r, "redsync", contended4).Unsteady; n != 1 {
		t.Errorf("%d trials of redsync are unsteady, want 1", n)
	}
	broken := row(t, r, "broken", contended16)
	if broken.Unsafe == nil || broken.UnsafeIn != 10 {
		t.Errorf("the broken lock: %+v", broken)
	}
}

// TestSameBytes checks that reading a folder twice gives identical results.
func TestSameBytes(t *testing.T) {
	dir, r := folder(t, options{Blocks: 3})
	read := func() []byte {
		text, err := os.ReadFile(filepath.Join(dir, bench.ResultsName))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if err := bench.WriteResults(dir, r); err != nil {
		t.Fatal(err)
	}
	first := read()
	if err := bench.WriteResults(dir, quick(t, options{Blocks: 3})); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, read()) {
		t.Error("the folder's results are not those of its plan and trials")
	}
	again, err := bench.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := bench.WriteResults(dir, again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, read()) {
		t.Error("the same folder gives other bytes")
	}
}

func TestRanking(t *testing.T) {
	for _, c := range []struct {
		name    string
		options options
		want    string // rank and name of each lock at 16 clients
	}{
		{"all differ", options{}, "1 fenced, 2 set-px-lua, 3 redsync-tuned, 4 redsync"},
		{"two are alike", options{Factor: map[string]float64{"set-px-lua": 0.95 / 0.78}}, "1 fenced, 1 set-px-lua, 3 redsync-tuned, 4 redsync"},
		{"two behind are alike", options{Factor: map[string]float64{"redsync": 0.63 / 0.32}}, "1 fenced, 2 set-px-lua, 3 redsync-tuned, 3 redsync"},
		{"the best is unsafe", options{Unsafe: []string{"fenced"}}, "1 set-px-lua, 2 redsync-tuned, 3 redsync, 0 fenced"},
		{"seven blocks are enough for four locks", options{Blocks: 7}, "1 fenced, 2 set-px-lua, 3 redsync-tuned, 4 redsync"},
		{"too few blocks to tell", options{Blocks: 4}, "1 fenced, 1 set-px-lua, 1 redsync-tuned, 1 redsync"},
		{"one starves clients", options{Starve: "fenced"}, "1 set-px-lua, 2 redsync-tuned, 3 redsync, 0 fenced"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.Points = []string{contended16}
			r := quick(t, c.options)
			i := slices.IndexFunc(r.Rankings, func(k bench.Ranking) bool { return k.Point == contended16 })
			var got []string
			for _, ranked := range r.Rankings[i].Order {
				got = append(got, string(rune('0'+ranked.Rank))+" "+ranked.Subject)
				want := map[bool]string{true: "violated: mutual-exclusion in 1 of 10 trials", false: "starves clients: 3 of 16 clients got nothing"}
				if ranked.Rank == 0 && ranked.Why != want[c.options.Starve == ""] {
					t.Errorf("out of the running: %q", ranked.Why)
				}
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
			if best := r.Rankings[i].Order[0].ToBest; best.Ratio != 1 || best.Differs {
				t.Errorf("the best to itself: %+v", best)
			}
		})
	}
}

func TestChecksCanFail(t *testing.T) {
	for _, c := range []struct {
		name, want string
		options    options
	}{
		{"blind judge", "broken-lock: broken: detected in 0 of 20 trials", options{BlindJudge: true}},
		{"wrong delay", "known-delay: fenced-delayed: 2.5 ms of 5 ms, in 10 pairs", options{WrongDelay: true}},
		{"unseen stall", "stalled-generator: fenced-stalled: at least 3.75 ms of 200 ms", options{UnseenStall: true}},
		{"uneven", "same-lock-twice: fenced-again against fenced: ratio 0.", options{UnevenAgain: true}},
		{"none", "broken-lock: missing", options{NoControls: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := quick(t, c.options)
			if len(r.Withheld) == 0 || !strings.HasPrefix(r.Withheld[0], c.want) {
				t.Errorf("withheld %q, want %s...", r.Withheld, c.want)
			}
			if !c.options.NoControls && len(r.Withheld) > 1 {
				t.Errorf("more than one: %q", r.Withheld)
			}
		})
	}
}
