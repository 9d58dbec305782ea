package requirements

import (
	"regexp"
	"strings"
	"testing"

	"lockbench/internal/yamlfile"
)

// The constant few is a requirements file that sets only the required keys.
const few = "name: few\nif_two_hold: corruption\n"

// mistake is a test case: the text of an invalid requirements file, and the error that Parse must return.
type mistake struct {
	text, want string
	unseen     bool // whether the JSON schema accepts the file, because it cannot detect the mistake
}

func broken() map[string]mistake {
	return map[string]mistake{
		"empty file":        {"", "n.yaml:1:1: the file is empty (want the keys of a requirements file, such as name and if_two_hold)", false},
		"two documents":     {few + "---\nname: more\n", "n.yaml:3:1: another document begins here (want one requirements file in a file)", true},
		"no YAML":           {few + "hold: {p50: 5ms\n", "n.yaml:3:7: this is no YAML: could not find flow mapping end token '}'", true},
		"nothing required":  {"clients: 7\n", "n.yaml:1:1: name is missing: name of the decision\nn.yaml:1:1: if_two_hold is missing: " + keyAt(Table(), "if_two_hold").Doc, false},
		"unknown harm":      {"name: few\nif_two_hold: coruption\n", "n.yaml:2:14: if_two_hold: coruption is none of corruption, wasted-work (did you mean corruption?)", false},
		"unknown key":       {few + "recover_within: 5s\n", "n.yaml:3:1: unknown key recover_within (did you mean recovery_within?)", false},
		"unknown time":      {few + "hold: {p95: 5s}\n", "n.yaml:3:8: unknown key p95 (did you mean p99?)", false},
		"unknown means":     {few + "instead: [idempotence]\n", "n.yaml:3:11: instead: idempotence is none of idempotent, compare-and-set, database-row (did you mean idempotent?)", false},
		"unknown check":     {few + "checks_fence: true\n", "n.yaml:3:15: checks_fence: true is none of nothing, writes, reads-and-writes", false},
		"unknown event":     {few + "survives_store: [restart, fire]\n", "n.yaml:3:27: survives_store: fire is none of restart, failover, clock, eviction", false},
		"no stores":         {few + "stores: []\n", "n.yaml:3:9: stores: the list is empty", false},
		"store twice":       {few + "stores: [redis, redis]\n", "n.yaml:3:17: stores: redis comes twice", false},
		"no unit":           {few + "hold: {p50: 5}\n", "n.yaml:3:13: p50: 5 has no unit (want a duration from 1µs to 24h, such as 1ms)", false},
		"no time for them":  {few + "hold: 5ms\n", "n.yaml:3:7: 5ms is no mapping (want keys such as p50, each with a value)", false},
		"held for days":     {few + "hold: {max: 25h}\n", "n.yaml:3:13: max: 25h is more than 24h (want a duration from 1µs to 24h)", true},
		"held for nothing":  {few + "hold: {p50: 0s}\n", "n.yaml:3:13: p50: 0s is less than 1µs (want a duration from 1µs to 24h)", true},
		"a long pause":      {few + "pauses: {longest: 61m}\n", "n.yaml:3:19: longest: 61m is more than 1h (want a duration from 1µs to 1h)", true},
		"no recovery":       {few + "recovery_within: 99ms\n", "n.yaml:3:18: recovery_within: 99ms is less than 100ms (want 0s for no limit, or 100ms to 24h)", true},
		"late recovery":     {few + "recovery_within: 25h\n", "n.yaml:3:18: recovery_within: 25h is more than 24h (want a duration from 0s to 24h)", true},
		"no clients":        {few + "clients: 0\n", "n.yaml:3:10: clients: 0 is less than 1 (want 1 to 10000)", false},
		"a negative rate":   {few + "rate: -1\n", "n.yaml:3:7: rate: -1 is less than 0 (want 0 to 1000000)", false},
		"no flag":           {few + "fair: yes\n", "n.yaml:3:7: fair: yes is neither true nor false", false},
		"a language":        {few + "languages: [c#, '']\n", "n.yaml:3:17: languages: a name is empty", true},
		"an unknown weight": {few + "weights: {speed: 3}\n", "n.yaml:3:11: unknown key speed", false},
		"a heavy weight":    {few + "weights: {goodput: 11}\n", "n.yaml:3:20: goodput: 11 is more than 10 (want 0 to 10)", false},
		"no weight":         {few + "weights: {goodput: 0, acquire: 0, wait: 0, fairness: 0, recovery: 0, commands: 0}\n", "n.yaml:3:10: weights: all are 0 (want at least one above 0)", true},
		"p99 below p50":     {few + "hold: {p50: 5ms, p99: 4ms}\n", "n.yaml:3:23: p99: 4ms is less than p50, 5ms", true},
		"max below p50":     {few + "hold: {p50: 5ms, max: 4ms}\n", "n.yaml:3:23: max: 4ms is less than p50, 5ms", true},
		"max below p99":     {few + "hold: {p99: 5ms, max: 4ms}\n", "n.yaml:3:23: max: 4ms is less than p99, 5ms", true},
		"longest below p99": {few + "pauses: {p99: 5ms, longest: 4ms}\n", "n.yaml:3:29: longest: 4ms is less than p99, 5ms", true},
		"too many holds":    {few + "hold: {p50: 1s, p99: 2s}\nrate: 2\n", "n.yaml:4:7: rate: 2 holds do not fit into a second: one takes 1s at p50 and 2s at p99, all of them 1.02 s at least (want a lower rate, or shorter times in hold)", true},
		"too many pauses":   {few + "pauses: {per_hour: 100, p50: 1m10s}\n", "n.yaml:3:20: per_hour: 100 pauses do not fit into an hour: one takes 1m10s at p50 and 11m40s at p99 (want fewer, or shorter ones)", true},
	}
}

var excerpts = regexp.MustCompile(`(?m)\n    .*$`)

// listed returns the lines of an error without the excerpts of the file.
func listed(err error) string { return excerpts.ReplaceAllString(err.Error(), "") }

func TestBroken(t *testing.T) {
	for name, m := range broken() {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("n.yaml", []byte(m.text), Known{})
			if err == nil {
				t.Fatal("no error")
			}
			if listed(err) != m.want {
				t.Errorf("got\n%v\nwant\n%s", err, m.want)
			}
		})
	}
}

func TestKnown(t *testing.T) {
	known := Known{Stores: []string{"redis", "redis@five", "redis@sentinel", "postgres"}, Languages: []string{"go", "java"}}
	if _, err := Parse("n.yaml", []byte(few+"stores: [redis@five, postgres]\nlanguages: go\n"), known); err != nil {
		t.Error(err)
	}
	_, err := Parse("n.yaml", []byte(few+"stores: [redis@fife, postgres]\nlanguages: golang\n"), known)
	want := "n.yaml:3:10: stores: redis@fife is none of redis, redis@five, redis@sentinel, postgres (did you mean redis@five?)\n" +
		"n.yaml:4:12: languages: golang is none of go, java"
	if err == nil || listed(err) != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

var placed = regexp.MustCompile(`^n\.yaml:(\d+:\d+: .|: and \d+ more$)`)

// FuzzParse checks that Parse returns either requirements or an error that states line and column. The requirements must not
// change when they are written and parsed again.
func FuzzParse(f *testing.F) {
	f.Add(whole)
	for _, b := range broken() {
		f.Add(b.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse("n.yaml", []byte(text), Known{})
		if err == nil {
			checkAgain(t, n)
			return
		}
		lines := strings.Split(listed(err), "\n")
		if len(lines) > yamlfile.MaxWrong+1 {
			t.Errorf("%d lines", len(lines))
		}
		for _, line := range lines[:min(len(lines), yamlfile.MaxWrong)] {
			if !placed.MatchString(line) {
				t.Errorf("%q has no line and column", line)
			}
		}
	})
}
