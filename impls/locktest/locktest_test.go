package locktest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/impls"
	redislocks "lockbench/impls/redis"
	"lockbench/internal/drive/trial"
)

const backOff = 100 * time.Millisecond

// TestCorrectLock tests a correct lock, as its author would.
func TestCorrectLock(t *testing.T) {
	o := Options{Leased: true, BackOff: backOff, Faults: []string{"process-pause", "holder-kill", "lost-reply"}}
	Run(t, redislocks.SetPXLua().Open, o)
	if testing.Short() && !isChild() {
		return // virtual time is slow under the race detector
	}
	Explore(t, redislocks.SetPXLua().Open, o)
}

// failed runs the trials that the options select, and returns their failures.
func failed(t *testing.T, open Open, o Options) []failure {
	t.Helper()
	s, ok := begin(t, open, o, modeWorker)
	if !ok {
		return nil
	}
	cells, _, err := s.cells(false)
	if err != nil {
		t.Fatal(err)
	}
	var pool trial.Pool
	var all []failure
	for _, c := range cells {
		failures, _, err := s.try(t.Context(), c, t.TempDir(), &pool)
		if err != nil {
			t.Error(err)
		}
		all = append(all, failures...)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	return all
}

// want checks that a failure of the given property exists, and that its text contains each of the given strings.
func want(t *testing.T, failures []failure, property string, parts ...string) {
	t.Helper()
	i := slices.IndexFunc(failures, func(f failure) bool { return f.property == property })
	if i < 0 {
		t.Errorf("%s was not found to be violated, but %v", property, failures)
		return
	}
	for _, part := range parts {
		if !strings.Contains(failures[i].text, part) {
			t.Errorf("want %q in\n%s", part, failures[i].text)
		}
	}
}

// TestReleaseWithoutComparing checks that the trials find a violation if a release frees another client's hold.
func TestReleaseWithoutComparing(t *testing.T) {
	o := Options{Leased: true, BackOff: backOff, Workloads: []string{"misuse"}, Faults: []string{}, Seed: 7}
	want(t, failed(t, redislocks.SetPX().Open, o), "owner-release", "it was expected to hold: only a holder can release", "releases k",
		"repeat: LOCKBENCH_SEED=7 go test -count=1 -run '^TestReleaseWithoutComparing$/^misuse,none$'")
}

// TestNoExpiry checks that the trials find a violation if a key has no expiry. The clients run in separate processes,
// because the fault kills a holder.
func TestNoExpiry(t *testing.T) {
	o := Options{Leased: true, BackOff: backOff, Workloads: []string{"counter"}, Faults: []string{"holder-kill"}}
	want(t, failed(t, redislocks.SetNX().Open, o), "recovery", "under the fault holder-kill", "killed", "/^counter,holder-kill$'")
}

// TestExploreFindsDefect checks that Explore finds a release that does not compare the token. The reported seed must
// reproduce the violation.
func TestExploreFindsDefect(t *testing.T) {
	if testing.Short() && !isChild() {
		t.Skip("virtual time is slow under the race detector")
	}
	s, ok := begin(t, redislocks.SetPX().Open, Options{Leased: true, BackOff: backOff}, modeExplorer)
	if !ok {
		return
	}
	failures, _, err := s.explore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want(t, failures, "lease-exclusion", "lease-exclusion is violated by", "repeat: LOCKBENCH_SEED=")
	texts := map[string]string{}
	for _, f := range failures {
		texts[f.property] = f.text
	}
	text := texts["lease-exclusion"]
	shown := text // by the counterexample of this property, or by that of another one
	if _, rest, ok := strings.Cut(text, "the counterexample of "); ok {
		other, _, _ := strings.Cut(rest, " shows it too")
		shown = texts[other]
	}
	if !strings.Contains(shown, "marked *") {
		t.Errorf("lease-exclusion has no counterexample: %v", failures)
	}
	_, seed, _ := strings.Cut(text, seedVariable+"=")
	seed, _, _ = strings.Cut(seed, " ")
	t.Setenv(seedVariable, seed)
	s, _ = begin(t, redislocks.SetPX().Open, Options{Leased: true, BackOff: backOff}, modeExplorer)
	again, _, err := s.explore(t.Context())
	if err != nil || s.Seeds != 1 {
		t.Fatal(err)
	}
	want(t, again, "lease-exclusion", "by 1 of 1 fault plans")
}

// TestExploreNeedsDial checks that Explore refuses a lock that does not use Env.Dial. Such a lock would wait for the real
// network, and virtual time would stop.
func TestExploreNeedsDial(t *testing.T) {
	open := func(env impls.Env) (impls.Lock, error) {
		env.Dial = nil
		return redislocks.SetPXLua().Open(env)
	}
	s, ok := begin(t, open, Options{}, modeExplorer)
	if !ok {
		return
	}
	if _, _, err := s.explore(t.Context()); err == nil || !strings.Contains(err.Error(), "Env.Dial") {
		t.Errorf("%v", err)
	}
}

// TestOptions checks which workloads and faults are selected by Options and by short mode.
func TestOptions(t *testing.T) {
	dirs := func(o Options, short bool) string {
		s, ok := begin(t, redislocks.SetPXLua().Open, o, modeWorker)
		if !ok {
			return ""
		}
		cells, _, err := s.cells(short)
		if err != nil {
			return err.Error()
		}
		var names []string
		for _, c := range cells {
			names = append(names, c.Workload.Name+","+c.Fault.Name)
		}
		return strings.Join(names, " ")
	}
	for _, c := range []struct {
		options Options
		short   bool
		want    string
	}{
		{Options{Workloads: []string{"counter"}, Faults: []string{}}, false, "counter,none"},
		{Options{Reentrant: true, Faults: []string{"process-pause"}}, false, "counter,none counter,process-pause misuse,none long-hold,none reentrant,none reentrant,process-pause"},
		{Options{Faults: []string{"process-pause"}}, true, "counter,none misuse,none long-hold,none"},
		{Options{Faults: []string{"earthquake"}}, false, `unknown fault "earthquake"`},
		{Options{Workloads: []string{"flash-sale"}}, false, `unknown workload "flash-sale"`},
	} {
		if got := dirs(c.options, c.short); got != c.want {
			t.Errorf("%+v: %s\nwant %s", c.options, got, c.want)
		}
	}
	all := dirs(Options{Workloads: []string{"counter"}}, false)
	if n := len(strings.Fields(all)); n < 12 || strings.Contains(all, "server") {
		t.Errorf("by default: %s", all)
	}
}
