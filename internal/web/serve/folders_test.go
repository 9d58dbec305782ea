package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/checker/judge"
	"lockbench/histories"
	"lockbench/reports/bench"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

const (
	msec = time.Millisecond

	scripted = `<script>alert(1)</script>`
	secret   = "s3cret"
	withPass = "redis://admin:s3cret@db.example:6379/0"
	turned   = "evil\u202egnp.exe"
)

// overlapping returns a history with an overlap: client 1 is granted a key while client 0 holds it. The overlap
// lasts from 20 to 30 ms, during a fault.
func overlapping(key string) []histories.Op {
	acquire := func(client int32, hold int64, call, back time.Duration) histories.Op {
		return histories.Op{Client: client, Hold: hold, Kind: histories.Acquire, Outcome: histories.OK, Key: key, Due: call, Call: call, Return: back}
	}
	release := func(client int32, hold int64, call, back time.Duration) histories.Op {
		return histories.Op{Client: client, Hold: hold, Kind: histories.Release, Outcome: histories.OK, Key: key, Due: call, Call: call, Return: back}
	}
	return []histories.Op{
		acquire(0, 1, 10*msec, 11*msec),
		{Client: 0, Kind: histories.Inject, Outcome: histories.OK, Fault: "process-pause", Due: 12 * msec, Call: 12 * msec, Return: 13 * msec},
		acquire(1, 2, 15*msec, 20*msec),
		{Client: 1, Hold: 2, Kind: histories.Write, Outcome: histories.Unknown, Key: key, Due: 22 * msec, Call: 22 * msec, Return: 23 * msec, Error: "lost " + withPass},
		{Client: 0, Kind: histories.Heal, Outcome: histories.OK, Fault: "process-pause", Due: 25 * msec, Call: 25 * msec, Return: 26 * msec},
		release(0, 1, 30*msec, 31*msec),
		release(1, 2, 40*msec, 41*msec),
		acquire(2, 3, 50*msec, 51*msec),
		release(2, 3, 60*msec, 61*msec),
	}
}

// sound returns a history in which clients hold the key one after another, each for a millisecond.
func sound(clients, sections int) []histories.Op {
	var ops []histories.Op
	for i := range sections {
		c, at := int32(i%clients), time.Duration(i)*2*msec
		ops = append(ops,
			histories.Op{Client: c, Hold: int64(i + 1), Kind: histories.Acquire, Outcome: histories.OK, Key: "k0", Due: at, Call: at, Return: at + msec/2},
			histories.Op{Client: c, Hold: int64(i + 1), Kind: histories.Release, Outcome: histories.OK, Key: "k0", Due: at + msec*3/2, Call: at + msec*3/2, Return: at + msec*7/4})
	}
	return ops
}

// writeHistory writes a history without a verdict, as in a trial that is running.
func writeHistory(t testing.TB, dir string, h histories.Header, ops []histories.Op) {
	t.Helper()
	var b bytes.Buffer
	h.Version = histories.Version
	header, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(append(header, '\n'))
	marked := time.Duration(0)
	for i := range ops {
		b.Write(append(histories.AppendOp(nil, &ops[i]), '\n'))
		if i == len(ops)-1 || i%1000 == 999 && !ops[i].Open() && ops[i+1].Call > ops[i].Return {
			marked = max(marked, ops[i].Return)
			fmt.Fprintf(&b, "{\"mark\":%d}\n", marked)
		}
	}
	write(t, filepath.Join(dir, run.HistoryName), b.String())
}

// writeTrial writes a history and its verdict.
func writeTrial(t testing.TB, dir string, h histories.Header, ops []histories.Op) {
	t.Helper()
	writeHistory(t, dir, h, ops)
	v, _, err := judge.File(filepath.Join(dir, run.HistoryName), judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.WriteJSON(filepath.Join(dir, run.VerdictName), v); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func manifestOf(started time.Time, locks ...string) run.Manifest {
	m := run.Manifest{Name: "chosen", Started: started, Ended: started.Add(time.Minute), Command: "lockbench run --trials=2", Servers: run.Local,
		Environment: run.Environment{OS: "linux", Arch: "amd64", Go: "go1.26.0", Server: "redis 7.0.15 (local)"}}
	for i, lock := range locks {
		m.Plan = append(m.Plan, run.Cell{Dir: fmt.Sprintf("lock%d/contend+none", i), Lock: lock, Workload: "contend", Fault: "none"})
	}
	return m
}

func exclusionExpected() []histories.Expectation {
	return []histories.Expectation{{Property: "mutual-exclusion", Expected: histories.ToHold}}
}

// writeRun writes a run of two locks. In the run, the first lock excludes and the second does not.
func writeRun(t testing.TB, dir string, started time.Time, second string) {
	t.Helper()
	m := manifestOf(started, "sound", second)
	if err := run.WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	h := histories.Header{Workload: "contend", Fault: "none", Server: "redis 7.0.15 (local)", Expectations: exclusionExpected(), TTL: histories.Nanos(time.Second)}
	h.Lock = "sound"
	writeTrial(t, filepath.Join(dir, m.Plan[0].Dir, "001"), h, sound(4, 20))
	h.Lock = second
	writeTrial(t, filepath.Join(dir, m.Plan[1].Dir, "001"), h, overlapping("k0"))
	if _, err := run.Build(dir); err != nil {
		t.Fatal(err)
	}
}

// writeBench writes the results of a benchmark, based on recorded test data. It multiplies the goodput of the lock
// "fenced" by a factor.
func writeBench(t testing.TB, dir string, seed uint64, factor float64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "reports", "bench", "testdata", "synthetic.json"))
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Plan   *bench.Plan
		Trials []*bench.Trial
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	recorded.Plan.Seed = seed
	err = bench.WritePlan(dir, recorded.Plan)
	for _, trial := range recorded.Trials {
		if s, _ := recorded.Plan.Subject(trial.Subject); s.Lock == "fenced" { // include the self-checks that measure the lock "fenced", such as "fenced-again"
			trial.Figures["goodput"] *= factor
		}
		err = errors.Join(err, bench.WriteTrial(dir, trial))
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := bench.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	page, err := bench.Page(r)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "report", "index.html"), string(page))
	if err := bench.WriteResults(dir, r); err != nil {
		t.Fatal(err)
	}
}

// theTime returns the fixed current time that the tests use.
func theTime() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// writeGoing writes the folder of an unfinished run whose files were last modified at the given time. The run has
// three cells, which are combinations of lock, workload and fault. One cell has finished, one has begun, and one has
// not.
func writeGoing(t testing.TB, dir string, last time.Time) {
	t.Helper()
	m := manifestOf(last.Add(-time.Minute), "done", "driven", "waits")
	m.Ended = time.Time{}
	if err := run.WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	h := histories.Header{Workload: "contend", Expectations: exclusionExpected()}
	for _, n := range []string{"001", "002"} {
		writeTrial(t, filepath.Join(dir, m.Plan[0].Dir, n), h, overlapping("k0"))
	}
	writeHistory(t, filepath.Join(dir, m.Plan[1].Dir, "001"), h, sound(2, 5))
	writeTrial(t, filepath.Join(dir, m.Plan[1].Dir, "002"), h, sound(2, 5))
	write(t, filepath.Join(dir, m.Plan[1].Dir, "002", run.DiscardedName), `{"reason":"the stall had no effect"}`)
	setTimes(t, dir, last)
}

// setTimes sets the modification time of a folder and of all files in it.
func setTimes(t testing.TB, dir string, at time.Time) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, at, at))
	}); err != nil {
		t.Fatal(err)
	}
}

// writeAll writes folders with runs, benchmarks and advice, some unfinished, unreadable or unrelated. It returns the
// parent folder.
func writeAll(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	writeRun(t, filepath.Join(dir, "20261118-100000-first"), theTime().Add(-50*time.Hour), "broken")
	writeRun(t, filepath.Join(dir, "20261119-100000-second"), theTime().Add(-26*time.Hour), "other")
	writeGoing(t, filepath.Join(dir, "20261120-115900-going"), theTime().Add(-3*time.Second))
	writeGoing(t, filepath.Join(dir, "20261120-100000-killed"), theTime().Add(-2*time.Hour))
	writeBench(t, filepath.Join(dir, "20261117-bench-a"), 1, 1)
	writeBench(t, filepath.Join(dir, "20261117-bench-b"), 2, 1.5)
	write(t, filepath.Join(dir, "20261116-torn", "run.json"), `{"lockbench_run": 1,`)
	write(t, filepath.Join(dir, "20261116-newer", "bench.json"), `{"lockbench_bench": 99}`)
	write(t, filepath.Join(dir, "foreign", "notes.txt"), "nothing of lockbench")
	write(t, filepath.Join(dir, ".git", "HEAD"), "hidden")
	a := selection.Report{Version: selection.Version, Decision: selection.Decision{Outcome: selection.OneLock, Recommended: []string{"fenced"}},
		Evidence: selection.Evidence{Sources: []selection.Source{{ID: "R1", Kind: "run", Dir: "run"}, {ID: "B1", Kind: "bench", Dir: "../20261117-bench-a"}, {ID: "B2", Kind: "bench", Dir: "../../elsewhere"}}}}
	writeRun(t, filepath.Join(dir, "20261115-advice", "run"), theTime().Add(-120*time.Hour), "broken")
	if err := run.WriteJSON(filepath.Join(dir, "20261115-advice", selection.DataName), a); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "20261115-advice", "advice.html"), "<!doctype html><title>advice</title>")
	if err := os.Symlink("20261119-100000-second", filepath.Join(dir, "latest")); err != nil {
		t.Fatal(err)
	}
	writeHostile(t, filepath.Join(dir, "20261114-hostile"))
	return dir
}

// writeHostile writes a run in which every text contains HTML, control characters or a password.
func writeHostile(t testing.TB, dir string) {
	t.Helper()
	m := manifestOf(theTime().Add(-100*time.Hour), scripted)
	m.Name, m.Environment.Server = scripted+turned, withPass
	m.Notes, m.Warnings = []string{"see " + withPass, `"onmouseover="alert(1)`}, []string{scripted}
	m.Command = "lockbench run --redis " + withPass
	if err := run.WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	key := scripted + turned + withPass
	h := histories.Header{Lock: scripted, Workload: turned, Server: withPass, Expectations: exclusionExpected()}
	writeTrial(t, filepath.Join(dir, m.Plan[0].Dir, "001"), h, overlapping(key))
	if _, err := run.Build(dir); err != nil {
		t.Fatal(err)
	}
}

func serverOf(t testing.TB, dir string) *Server {
	t.Helper()
	s, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.now = theTime
	return s
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1:7070"
	h.ServeHTTP(w, r)
	return w
}

// checkText checks a text. The text must contain each string of the list has, unchanged or escaped as HTML.
// It must contain no string of the list lacks.
func checkText(t *testing.T, where, text string, has, lacks []string) {
	t.Helper()
	for _, want := range has {
		if !strings.Contains(text, want) && !strings.Contains(html.UnescapeString(text), want) {
			t.Errorf("%s: %q is not in it", where, want)
		}
	}
	for _, bad := range lacks {
		if strings.Contains(text, bad) {
			t.Errorf("%s: %q is in it", where, bad)
		}
	}
}
