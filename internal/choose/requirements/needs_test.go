package requirements

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockbench/internal/yamlfile"
	"lockbench/reports/selection"
)

var update = flag.Bool("update", false, "write the golden files again")

// golden compares text with the golden file want. With -update it writes the file.
func golden(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%s, %v (-want +got; -update writes it again):\n%s", file, err, diff)
	}
}

// whole is a requirements file that states every key.
const whole = `name: all
guards: 'every key: "and" # more'
if_two_hold: wasted-work
instead: [idempotent, compare-and-set, database-row]
checks_fence: reads-and-writes
hold: {p50: 1ms, p99: 1.5s, max: 30m}
pauses: {per_hour: 0.5, p50: 2ms, p99: 3s, longest: 1m}
recovery_within: 0s
clients: 10000
rate: 12.5
wait: 24h
fair: true
commands: 7.5
reenters: true
languages: [go, c#]
stores: redis@five
survives_store: [restart, failover, clock, eviction]
weights: {goodput: 0, acquire: 0.5, wait: 10, fairness: 1, recovery: 2, commands: 3}
`

func parsed(t *testing.T, text string) selection.Needs {
	t.Helper()
	n, err := Parse("n.yaml", []byte(text), Known{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return n
}

func TestEveryKey(t *testing.T) {
	want := selection.Needs{Name: "all", Guards: `every key: "and" # more`, TwoHold: selection.WastedWork,
		Instead: []selection.Means{selection.Idempotent, selection.Compare, selection.Row}, Fence: selection.OnAll,
		Hold:     selection.Times{P50: time.Millisecond, P99: 1500 * time.Millisecond, Max: 30 * time.Minute},
		Pauses:   selection.Pauses{PerHour: 0.5, P50: 2 * time.Millisecond, P99: 3 * time.Second, Longest: time.Minute},
		Recovery: 0, Clients: 10000, Rate: 12.5, Wait: 24 * time.Hour, Fair: true, Commands: 7.5, Reenters: true,
		Language: []string{"go", "c#"}, Stores: []string{"redis@five"},
		Survives: []selection.Trouble{selection.Restart, selection.Failover, selection.Clock, selection.Eviction},
		Weights:  map[string]float64{"goodput": 0, "acquire": 0.5, "wait": 10, "fairness": 1, "recovery": 2, "commands": 3}}
	if diff := cmp.Diff(want, parsed(t, whole)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, l := range leaves("", Table()) {
		if !strings.Contains(whole, l.Name+": ") {
			t.Errorf("%s is not in the test", l.path)
		}
	}
}

func TestDefaults(t *testing.T) {
	want := selection.Needs{Name: "few", TwoHold: selection.Corruption, Fence: selection.NoCheck,
		Hold:     selection.Times{P50: 5 * time.Millisecond, P99: 50 * time.Millisecond, Max: 500 * time.Millisecond},
		Pauses:   selection.Pauses{PerHour: 60, P50: 10 * time.Millisecond, P99: 100 * time.Millisecond, Longest: 500 * time.Millisecond},
		Recovery: 30 * time.Second, Clients: 16, Stores: []string{"redis"}, Survives: []selection.Trouble{selection.Restart},
		Weights: map[string]float64{"goodput": 1, "acquire": 1, "wait": 1, "fairness": 1, "recovery": 1, "commands": 1},
		Assumed: []string{"instead", "checks_fence", "hold.p50", "hold.p99", "hold.max", "pauses.per_hour", "pauses.p50", "pauses.p99", "pauses.longest",
			"recovery_within", "clients", "rate", "wait", "fair", "commands", "reenters", "languages", "stores", "survives_store",
			"weights.goodput", "weights.acquire", "weights.wait", "weights.fairness", "weights.recovery", "weights.commands"}}
	if diff := cmp.Diff(want, parsed(t, few)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	harmless := parsed(t, "name: few\nif_two_hold: wasted-work\n")
	if len(harmless.Survives) != 0 {
		t.Errorf("wasted work requires no store event to be survived, and the default is %v", harmless.Survives)
	}
}

// TestNothingStated checks that a key with an empty list counts as set, so that no default replaces it.
func TestNothingStated(t *testing.T) {
	n := parsed(t, "name: few\nif_two_hold: wasted-work\ninstead: []\nlanguages: []\nsurvives_store: []\n")
	if n.Instead != nil || n.Language != nil || n.Survives != nil {
		t.Errorf("got %#v, %#v, %#v", n.Instead, n.Language, n.Survives)
	}
	for _, path := range []string{"instead", "languages", "survives_store"} {
		if slices.Contains(n.Assumed, path) {
			t.Errorf("%s was stated but is listed as assumed", path)
		}
	}
}

// TestDefaultsFollow checks the defaults of durations that depend on other durations. For example, the default p99 of holds
// depends on their p50.
func TestDefaultsFollow(t *testing.T) {
	for stated, want := range map[string]string{
		"hold: {p50: 2m}":                    "hold 2m0s 20m0s 3h20m0s",
		"hold: {p50: 2h}":                    "hold 2h0m0s 20h0m0s 24h0m0s",
		"hold: {p99: 40ms}":                  "hold 4ms 40ms 400ms",
		"hold: {max: 200ms}":                 "hold 2ms 20ms 200ms",
		"hold: {max: 5us}":                   "hold 1µs 1µs 5µs",
		"hold: {p50: 20ms, max: 100ms}":      "hold 20ms 100ms 100ms",
		"hold: {p50: 20ms, p99: 21ms}":       "hold 20ms 21ms 210ms",
		"pauses: {longest: 400ms}":           "pauses 8ms 80ms 400ms 60",
		"pauses: {p50: 20m}":                 "pauses 20m0s 1h0m0s 1h0m0s 5",
		"pauses: {p50: 1h}":                  "pauses 1h0m0s 1h0m0s 1h0m0s 2",
		"pauses: {p50: 1m, p99: 1h}":         "pauses 1m0s 1h0m0s 1h0m0s 55",
		"pauses: {per_hour: 7, p50: 1s}":     "pauses 1s 10s 50s 7",
		"pauses: {p99: 1s, longest: 1001ms}": "pauses 100ms 1s 1.001s 60",
	} {
		n := parsed(t, few+stated)
		got := fmt.Sprintf("hold %v %v %v", n.Hold.P50, n.Hold.P99, n.Hold.Max)
		if strings.HasPrefix(want, "pauses") {
			got = fmt.Sprintf("pauses %v %v %v %v", n.Pauses.P50, n.Pauses.P99, n.Pauses.Longest, n.Pauses.PerHour)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", stated, got, want)
		}
	}
}

// checkAgain checks that requirements do not change when they are written and read again.
func checkAgain(t *testing.T, n selection.Needs) {
	t.Helper()
	text := Write(n)
	again, err := Parse("again.yaml", text, Known{})
	if err != nil {
		t.Fatalf("the written file is refused: %v\n%s", err, text)
	}
	if diff := cmp.Diff(n, again); diff != "" {
		t.Errorf("-first +again:\n%s\n%s", diff, text)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasSuffix(line, " ") {
			t.Errorf("trailing space in %q", line)
		}
	}
}

// TestAgain checks that fixed and random requirements do not change when they are written and read again.
func TestAgain(t *testing.T) {
	checkAgain(t, parsed(t, whole))
	checkAgain(t, parsed(t, few))
	refused, r := 0, rand.New(rand.NewPCG(8, 15))
	const tries = 1000
	for range tries {
		text := anyNeeds(r)
		n, err := Parse("n.yaml", []byte(text), Known{})
		if err != nil {
			refused++ // Parse rejects values that contradict each other
			continue
		}
		checkAgain(t, n)
	}
	if refused > tries*3/4 {
		t.Errorf("%d of %d were refused: too few were checked", refused, tries)
	}
}

// anyNeeds returns a requirements file with a random selection of the optional keys.
func anyNeeds(r *rand.Rand) string {
	var b strings.Builder
	mapping := ""
	for _, l := range leaves("", Table()) {
		if !l.Required && r.IntN(2) == 0 {
			continue
		}
		indent := ""
		if of, _, nested := strings.Cut(l.path, "."); nested {
			if indent = "  "; mapping != of {
				mapping = of
				fmt.Fprintf(&b, "%s:\n", of)
			}
		}
		fmt.Fprintf(&b, "%s%s: %s\n", indent, l.Name, anyValue(r, l.Key))
	}
	return b.String()
}

func anyValue(r *rand.Rand, k yamlfile.Key) string {
	words := k.Values
	if k.Name == "languages" {
		return []string{"[go, c#, c++]", "go", "[]", `['a, b', " c "]`}[r.IntN(4)]
	}
	if words == nil {
		words = []string{"one", "two", "true", "123"}
	}
	switch k.Form {
	case yamlfile.Text:
		return []string{"stock", `"a: # b"`, "'[x]'", `"null"`, `"\u2028 \U0001F512"`, `""`}[r.IntN(6)]
	case yamlfile.Whole:
		return fmt.Sprint(1 + r.IntN(10000))
	case yamlfile.Number:
		return fmt.Sprint(r.Float64() * min(k.Max, 100))
	case yamlfile.Span:
		top := min(k.To, 10*time.Second)
		return (k.From + 100*time.Millisecond + time.Duration(r.Int64N(int64(top)))).String()
	case yamlfile.Flag:
		return fmt.Sprint(r.IntN(2) == 0)
	}
	if !k.List {
		return words[r.IntN(len(words))]
	}
	least := 1
	if k.Empty {
		least = 0
	}
	some := slices.Clone(words)
	r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return "[" + strings.Join(some[:least+r.IntN(len(some)-least+1)], ", ") + "]"
}

// TestWrite compares written requirements files with golden files.
func TestWrite(t *testing.T) {
	for name, text := range map[string]string{"few": few, "some": few + "guards: it\nhold: {p99: 40ms}\nsurvives_store: []\nrecovery_within: 90m\n", "whole": whole} {
		golden(t, "testdata/written/"+name+".yaml", string(Write(parsed(t, text))))
	}
}

func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d examples (%v), want 3", len(files), err)
	}
	fits := fits(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n, err := Parse(file, text, Known{Stores: []string{"redis", "redis@replica", "postgres"}})
		if err != nil {
			t.Error(err)
		}
		if n.Name+".yaml" != filepath.Base(file) {
			t.Errorf("%s has the name %s", file, n.Name)
		}
		if ok, _ := fits(string(text)); !ok {
			t.Errorf("%s does not fit the schema", file)
		}
		checkAgain(t, n)
	}
}
