package run

import (
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockbench/reports/figures"
)

func TestManifestComesBack(t *testing.T) {
	dir := t.TempDir()
	want := sampleManifest()
	want.Plan = []Cell{{Dir: "redlock@five/counter+none", Lock: "redlock", Deployment: "five", Workload: "counter", Fault: "none"}}
	want.Locks = []LockDoc{{Name: "redlock", Doc: "a majority of five"}}
	if err := WriteManifest(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	want.Version = manifestVersion
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestManifestRefuses(t *testing.T) {
	plan := func(dir string) string {
		return `{"lockbench_run":1,"plan":[{"dir":"` + dir + `","lock":"l","workload":"w","fault":"none"}]}`
	}
	for text, want := range map[string]string{
		`{`:                             "unexpected end",
		`{}`:                            "version 0",
		`{"lockbench_run":2,"novel":1}`: "version 2, this lockbench reads version 1 to 1",
		`{"lockbench_run":1,"novel":1}`: "unknown field",
		plan("../elsewhere"):            "within the run folder",
		plan("/etc"):                    "within the run folder",
		plan("a/../b"):                  "within the run folder",
		plan("."):                       "within the run folder",
		plan("report/x"):                "folder of the page",
		`{"lockbench_run":1,"plan":[{"dir":"a"}]}`: "the lock or the workload is missing",
		`{"lockbench_run":1,"plan":[{"dir":"a","lock":"l","workload":"w"},{"dir":"a","lock":"l","workload":"w"}]}`: "the plan has it twice",
	} {
		if _, err := parseManifest([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestEnvironmentOfLinux(t *testing.T) {
	proc := fstest.MapFS{
		"cpuinfo":              {Data: []byte("processor\t: 0\nmodel name\t: Example CPU @ 2.40GHz\nprocessor\t: 1\nmodel name\t: Other\n")},
		"meminfo":              {Data: []byte("MemTotal:        2048 kB\nMemFree: 1 kB\n")},
		"sys/kernel/osrelease": {Data: []byte("6.1.0-13-amd64\n")},
		"loadavg":              {Data: []byte("0.25 0.50 1.75 1/200 4242\n")},
	}
	var got Environment
	got.readProc(proc)
	want := Environment{CPU: "Example CPU @ 2.40GHz", Memory: 2 << 20, Kernel: "6.1.0-13-amd64", Load: []float64{0.25, 0.5, 1.75}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got = Environment{}
	got.readProc(fstest.MapFS{"loadavg": {Data: []byte("much")}, "meminfo": {Data: []byte("MemTotal: lots kB")}})
	if diff := cmp.Diff(Environment{}, got); diff != "" {
		t.Errorf("of nonsense, -want +got:\n%s", diff)
	}
}

func TestCollect(t *testing.T) {
	if e := Collect(); e.OS == "" || e.Arch == "" || e.Cores < 1 || e.Go == "" {
		t.Errorf("got %+v", e)
	}
}

func TestRevision(t *testing.T) {
	info := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}}
	if got := revision(info); got != "0123456789ab+changes" {
		t.Errorf("got %q", got)
	}
	if got := revision(&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}); got != "v1.2.3" {
		t.Errorf("got %q", got)
	}
}

func TestCommands(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		n    float64
		why  string
		ok   bool
	}{
		"growth":      {`{"before":{"calls.set":5},"after":{"calls.set":12,"calls.evalsha":3}}`, 10, "", true},
		"overhead":    {`{"before":{},"after":{"calls.get":1,"calls.info":9,"calls.config|get":9,"calls.ping":9,"calls.hello":9,"calls.client|setname":9,"calls.auth":9,"calls.select":9,"calls.command|docs":9,"calls.script|load":9}}`, 1, "", true},
		"no calls":    {`{"before":{"cpu":1},"after":{"cpu":7}}`, 0, "", true},
		"no counters": {`{"server":"emulator","before":null,"after":null}`, 0, "the server keeps no counters", false},
		"half":        {`{"before":{"calls.set":1},"after":null}`, 0, "the server keeps no counters", false},
		"restarted":   {`{"before":{"calls.set":5},"after":{"calls.set":2}}`, 0, "the counters went backwards: a server was restarted", false},
	} {
		t.Run(name, func(t *testing.T) {
			var counted counters
			if err := json.Unmarshal([]byte(c.text), &counted); err != nil {
				t.Fatal(err)
			}
			if n, why, ok := figures.Commands(counted.Before, counted.After); n != c.n || why != c.why || ok != c.ok {
				t.Errorf("got %v %q %v, want %v %q %v", n, why, ok, c.n, c.why, c.ok)
			}
		})
	}
}
