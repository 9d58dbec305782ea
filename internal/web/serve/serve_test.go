package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lockbench/histories"
	"lockbench/reports/campaign"
	runreport "lockbench/reports/run"
)

// TestPages requests each page and checks its text.
func TestPages(t *testing.T) {
	h := serverOf(t, writeAll(t)).Handler("127.0.0.1")
	for _, c := range []struct {
		path       string
		status     int
		has, lacks []string
	}{
		{"/", 200, []string{"9 folders", "✗", "two held at once: 1", "excluded: 1", "1 FAIL", "▶", "running", "stopped", "last write 2 h ago", "2 of 6 trials finished", "about 2 min left",
			"bench: synthetic", "redis 7.0.15 (local)", "3 folders without a readable run, bench, advice or campaign", "run.json is cut off, or is not JSON.", "99",
			"it has no run.json, bench.json, advice.json or campaign.json, so no command of lockbench wrote it.", "recommended", "fenced", "latest", "data-every",
			`Newest run, <a href="/folder/20261120-115900-going" id="newest">20261120-115900-going</a>: under way, 2 of 6 trials`}, []string{"both inside", ".git"}},
		{"/?q=bench+synthetic", 200, []string{"2 folders of 12", "20261117-bench-a"}, []string{"20261118-100000-first"}},
		{"/?q=nothing-like-that", 200, []string{"No readable folder has all of these words"}, nil},
		{"/?q=running&part=live", 200, []string{"20261120-115900-going"}, []string{"<html", "20261118"}},
		{"/folder/20261118-100000-first", 200, []string{"lock0/contend+none", "excluded", "1 FAIL", "let two clients hold at once", "two held at once", "as expected", "/history/20261118-100000-first/lock1/contend+none/001",
			"/files/20261118-100000-first/report/index.html", "Compare with"}, []string{"data-every"}},
		{"/folder/latest", 200, []string{"lock1/contend+none/001"}, nil},
		{"/folder/20261117-bench-a", 200, []string{"fenced at contended-16c-1k-1ms", "two held at once</span> <small>as expected", "report/index.html"}, []string{"withheld"}},
		{"/folder/20261115-advice", 200, []string{"Choose fenced", "/files/20261115-advice/advice.html",
			`href="/folder/20261115-advice%2Frun"`, `href="/folder/20261117-bench-a"`, "<code>../../elsewhere</code>"}, nil},
		{"/folder/20261115-advice%2Frun", 200, []string{"/history/20261115-advice%2Frun/lock1/contend+none/001", "/files/20261115-advice%2Frun/report/index.html"}, nil},
		{"/history/20261115-advice%2Frun/lock1/contend+none/001", 200, []string{"1: two clients held at once"}, nil},
		{"/files/20261115-advice%2Frun/report/index.html", 200, []string{"Every check, lock by lock"}, nil},
		{"/folder/20261115-advice%2F..%2F20261115-advice", 404, nil, nil},
		{"/folder/20261116-torn", 422, []string{"cannot be read", "is cut off"}, nil},
		{"/folder/nowhere", 404, []string{"no such folder"}, nil},
		{"/nowhere", 404, []string{"no such page"}, nil},
		{"/compare", 200, []string{"<select", "20261117-bench-b"}, nil},
		{"/compare?a=20261118-100000-first&b=20261119-100000-second", 200, []string{"1 check only in A", "1 check only in B", "Nothing differs in 1 shared check.", "1 check the same in both", "<details>"}, nil},
		{"/compare?pick=20261119-100000-second&pick=20261118-100000-first", 200, []string{"A is <a href=\"/folder/20261118-100000-first\""}, nil},
		{"/compare?pick=latest", 200, []string{"one was chosen"}, nil},
		{"/compare?a=20261117-bench-a&b=20261117-bench-b", 200, []string{"goodput", "better", "~ (p=", "differ.", "the same in both", "+5"}, nil},
		{"/compare?a=20261117-bench-a&b=20261118-100000-first", 200, []string{"two of the same kind"}, nil},
		{"/compare?a=20261117-bench-a&b=20261117-bench-a", 200, []string{"choose two different folders"}, nil},
		{"/compare?a=20261118-100000-first&b=20261120-100000-killed", 200, []string{"has no results yet"}, nil},
		{"/compare?a=../etc&b=x", 200, []string{"is not a readable folder"}, nil},
		{"/files/20261118-100000-first/report/index.html", 200, []string{"Every check, lock by lock"}, nil},
		{"/files/20261118-100000-first/results.json", 200, []string{"lockbench_results"}, nil},
		{"/history/20261118-100000-first/lock0/contend+none/001?from=0&to=10", 200, []string{"Timeline", "client 0", "acquire", `data-key="+"`}, nil},
		{"/history/20261118-100000-first/lock1/contend+none/001", 200, []string{"1: two clients held at once for 10.00 ms", "overlap 1: clients 0, 1 held k0 for 10.0 ms from 20 ms", "clients 0, 1 held k0 from 20 to 30 ms", "process-pause",
			`<span class="result result-fail"><i aria-hidden="true">✗</i> two held at once</span> <small class="unmet">1 FAIL</small>`,
			"mutual-exclusion at 20 ms", "class=\"hold\"", "class=\"fault\""}, []string{"result-pass", "both inside"}},
		{"/history/20261118-100000-first/lock1/contend+none/001?client=2", 200, []string{"0 operations", "only client 2"}, nil},
		{"/history/20261118-100000-first/lock1/contend+none/001?from=x", 400, []string{"want milliseconds"}, nil},
		{"/history/20261118-100000-first/lock1/contend+none/001?from=9&to=3", 400, []string{"the end must lie after the beginning"}, nil},
		{"/history/20261118-100000-first/lock1/contend+none/001?client=-3", 400, []string{"want a number, or harness"}, nil},
		{"/history/20261118-100000-first/lock1/contend+none/009", 404, []string{"does not exist"}, nil},
		{"/history/20261120-115900-going/lock1/contend+none/001", 200, []string{"Timeline"}, nil},
		{"/static/serve.css", 200, []string{"--ground", ".skip"}, nil},
		{"/static/serve.js", 200, []string{"part=live"}, nil},
		{"/static/layout.html.tmpl", 404, nil, nil},
	} {
		w := get(h, c.path)
		if w.Code != c.status {
			t.Errorf("%s: %d, want %d: %.300s", c.path, w.Code, c.status, w.Body)
		}
		checkText(t, c.path, w.Body.String(), c.has, c.lacks)
	}
	list := get(h, "/").Body.String()
	if strings.Index(list, "20261116-torn") < strings.Index(list, "20261114-hostile") {
		t.Error("an unreadable folder is above a readable one")
	}
}

// TestCompareRuns tests the page that compares two runs. The page lists the checks that are in both runs but have
// different results. It hides all other checks in collapsed sections.
func TestCompareRuns(t *testing.T) {
	dir := t.TempDir()
	for name, second := range map[string]string{"a": "broken", "b": "broken"} {
		writeRun(t, filepath.Join(dir, name), theTime(), second)
	}
	m := manifestOf(theTime(), "other")
	h := histories.Header{Lock: "other", Workload: "contend", Fault: "none", Expectations: exclusionExpected()}
	writeTrial(t, filepath.Join(dir, "unlike", m.Plan[0].Dir, "001"), h, sound(2, 4))
	if err := runreport.WriteManifest(filepath.Join(dir, "unlike"), m); err != nil {
		t.Fatal(err)
	}
	h.Lock = "broken" // in run b, the lock named "broken" excludes other clients; in run a, it does not
	writeTrial(t, filepath.Join(dir, "b", "lock1/contend+none", "001"), h, sound(2, 4))
	for _, name := range []string{"b", "unlike"} {
		if _, err := runreport.Build(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := serverOf(t, dir).Handler("127.0.0.1")
	checkText(t, "one differs", get(s, "/compare?a=a&b=b").Body.String(), []string{"1 of 2 shared checks differ.", "1 check the same in both", `class="differs"><th scope="row" class="word">broken`}, []string{"only in"})
	checkText(t, "nothing shared", get(s, "/compare?a=a&b=unlike").Body.String(), []string{"A and B share no check.", "2 checks only in A", "1 check only in B"}, []string{`class="differs"`, "the same in both"})
}

// TestHostile checks that malicious texts in files are escaped, and that control characters and passwords are removed.
func TestHostile(t *testing.T) {
	h := serverOf(t, writeAll(t)).Handler("127.0.0.1")
	for _, path := range []string{"/", "/folder/20261114-hostile", "/history/20261114-hostile/lock0/contend+none/001",
		"/compare?a=20261114-hostile&b=20261118-100000-first", "/?q=" + "%3Cscript%3Ealert(1)%3C/script%3E", "/folder/%3Cscript%3E",
		"/files/20261114-hostile/results.json", "/files/20261114-hostile/report/index.html", "/files/20261114-hostile/run.json",
		"/compare?a=%3Cscript%3Ealert(1)%3C/script%3E&b=redis://u:s3cret@h", "/history/20261114-hostile/lock0/contend+none/001?key=redis://u:s3cret@h&from=0&to=99",
		"/history/20261114-hostile/lock0/contend+none/001?client=redis://u:s3cret@h"} {
		w := get(h, path)
		text := w.Body.String()
		checkText(t, path, text, nil, []string{secret})
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || strings.Contains(path, "/files/") {
			continue
		}
		checkText(t, path, text, nil, []string{scripted, turned, "\u202e", ` onmouseover="`, "<nil>", "ZgotmplZ", "%!"})
		if n := strings.Count(text, "<script"); n != 1 {
			t.Errorf("%s: %d scripts", path, n)
		}
	}
}

// TestHost checks that a request for another host name is refused.
func TestHost(t *testing.T) {
	dir := t.TempDir()
	s := serverOf(t, dir)
	for _, c := range []struct {
		host, bound string
		local       net.IP
		ok          bool
	}{
		{"127.0.0.1:7070", "127.0.0.1", nil, true}, {"localhost:7070", "127.0.0.1", nil, true}, {"LOCALHOST", "127.0.0.1", nil, true},
		{"[::1]:7070", "127.0.0.1", nil, true}, {"127.9.9.9", "127.0.0.1", nil, true}, {"build.example:80", "build.example", nil, true},
		{"192.0.2.7:7070", "0.0.0.0", net.IPv4(192, 0, 2, 7), true},
		{"192.0.2.8:7070", "0.0.0.0", net.IPv4(192, 0, 2, 7), false},
		{"evil.example", "127.0.0.1", nil, false}, {"localhost.evil.example", "127.0.0.1", nil, false}, {"", "", nil, false},
		{"127.0.0.1.evil.example:7070", "127.0.0.1", nil, false}, {"10.0.0.1:7070", "127.0.0.1", nil, false}, {"2130706433", "127.0.0.1", nil, false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = c.host
		if c.local != nil {
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: c.local, Port: 7070}))
		}
		w := httptest.NewRecorder()
		s.Handler(c.bound).ServeHTTP(w, r)
		if ok := w.Code == http.StatusOK; ok != c.ok {
			t.Errorf("%q bound to %q: status %d", c.host, c.bound, w.Code)
		}
	}
}

func TestMethodsAndHeaders(t *testing.T) {
	s := serverOf(t, writeAll(t))
	h := s.Handler("127.0.0.1")
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE"} {
		r := httptest.NewRequest(method, "/", strings.NewReader("a=b"))
		r.Host = "localhost"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	live := httptest.NewServer(h)
	defer live.Close()
	if r, err := http.Head(live.URL); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("HEAD: %v, %v", r, err)
	}
	for path, policy := range map[string][]string{
		"/": {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"}, "/nowhere": {"default-src 'none'"},
		"/files/20261118-100000-first/report/index.html":    {"sandbox allow-scripts", "default-src 'none'"},
		"/files/20261118-100000-first/results.json":         {"sandbox", "default-src 'none'"},
		"/history/20261118-100000-first/lock1/contend+none": {"script-src 'self'"},
	} {
		w := get(h, path)
		got := w.Header().Get("Content-Security-Policy")
		checkText(t, path, got, policy, []string{"http:", "https:", "*", "allow-same-origin"})
		if strings.HasPrefix(path, "/files/") == strings.Contains(got, "connect-src 'self'") {
			t.Errorf("%s: only pages of the server may fetch: %s", path, got)
		}
		for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Access-Control-Allow-Origin": ""} {
			if w.Header().Get(header) != want {
				t.Errorf("%s: %s is %q", path, header, w.Header().Get(header))
			}
		}
	}
	w := get(h, "/files/20261118-100000-first/lock0/contend+none/001/"+runreport.HistoryName)
	if w.Header().Get("Content-Disposition") != "attachment" || w.Body.Len() == 0 {
		t.Errorf("a history is not a download: %v", w.Header())
	}
}

// TestNothingOutside checks that neither a path nor a link leads out of the folder.
func TestNothingOutside(t *testing.T) {
	dir := writeAll(t)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "private.txt"), "treasure")
	write(t, filepath.Join(outside, "run.json"), `{"lockbench_run":1,"name":"treasure","command":"","seed":0,"servers":"","environment":{},"plan":[]}`)
	writeTrial(t, filepath.Join(outside, "001"), histories.Header{Lock: "treasure"}, sound(2, 3))
	run := filepath.Join(dir, "20261118-100000-first")
	for link, to := range map[string]string{
		filepath.Join(dir, "away"): outside, filepath.Join(run, "private.txt"): filepath.Join(outside, "private.txt"),
		filepath.Join(run, "elsewhere"): outside, filepath.Join(run, "lock0", "contend+none", "777"): filepath.Join(outside, "001"),
		filepath.Join(run, "up"): "../..", filepath.Join(dir, "20261117-bench-a", "private.json"): filepath.Join(outside, "private.txt"),
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "linked"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "run.json"), filepath.Join(dir, "linked", "run.json")); err != nil {
		t.Fatal(err)
	}
	live := httptest.NewServer(serverOf(t, dir).Handler("127.0.0.1"))
	defer live.Close()
	for _, path := range []string{"/folder/away", "/folder/linked", "/files/away/private.txt", "/files/20261118-100000-first/private.txt",
		"/files/20261118-100000-first/elsewhere/private.txt", "/history/20261118-100000-first/lock0/contend+none/777", "/files/20261118-100000-first/up/x",
		"/files/20261118-100000-first/..%2f..%2f" + filepath.Base(outside) + "%2fprivate.txt", "/files/..%2f" + filepath.Base(outside) + "/private.txt",
		"/files/%2e%2e/%2e%2e/etc/passwd", "/files/20261118-100000-first/%2fetc%2fpasswd", "/history/..%2f..%2fetc/passwd", "/files/20261118-100000-first",
		"/files/20261118-100000-first/lock0", "/compare?a=20261117-bench-a&b=20261117-bench-b", "/files/20261118-100000-first/..%5c..%5cx", "/static/..%2fserve.go",
		"/folder/..", "/folder/%2e%2e", "/folder/.", "/files/20261118-100000-first/run.json%00.txt"} {
		r, err := http.Get(live.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || strings.Contains(string(text), "treasure") || strings.Contains(string(text), "root:") {
			t.Errorf("%s: %v %.200s", path, err, text)
		}
		if r.StatusCode == http.StatusOK && !strings.HasPrefix(path, "/compare") && r.Request.URL.Path != "/" {
			t.Errorf("%s: status 200: %.200s", path, text)
		}
		if strings.HasPrefix(path, "/compare") {
			checkText(t, path, string(text), []string{"leads out of the served folder"}, nil)
		}
	}
}

func TestListen(t *testing.T) {
	for _, c := range []struct {
		address string
		anyone  bool
		refused string
	}{
		{"127.0.0.1:0", false, ""}, {"localhost:0", false, ""}, {"0.0.0.0:0", true, ""},
		{"0.0.0.0:0", false, "no password"}, {":0", false, "no password"}, {"192.0.2.1:0", false, "no password"}, {"build.example:0", false, "no password"},
		{"127.0.0.1", false, "want host:port"}, {"127.0.0.1:99999", false, "port"},
	} {
		l, err := Listen(c.address, c.anyone)
		if err == nil {
			l.Close()
		}
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s, anyone %t: %v, want %q", c.address, c.anyone, err, c.refused)
		}
	}
}

// TestOlderResults checks that results in an older file format are reported as unreadable. The page must show the
// command that writes these results again.
func TestOlderResults(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, filepath.Join(dir, "20261118-100000-first"), theTime().Add(-50*time.Hour), "broken")
	file := filepath.Join(dir, "20261118-100000-first", runreport.ResultsName)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, strings.Replace(string(text), `"lockbench_results": 3`, `"lockbench_results": 1`, 1))
	checkText(t, "older", get(serverOf(t, dir).Handler("127.0.0.1"), "/").Body.String(), []string{
		"results.json has version 1 and this lockbench reads version 3: run `lockbench report 20261118-100000-first` to write it again"}, []string{"FAIL"})
}

// TestInProgress checks the pages of unfinished runs. The page of a run under way shows its progress. The page of a
// killed run shows the time of the last write.
func TestInProgress(t *testing.T) {
	dir := writeAll(t)
	s := serverOf(t, dir)
	h := s.Handler("127.0.0.1")
	going, killed := get(h, "/folder/20261120-115900-going"), get(h, "/folder/20261120-100000-killed")
	spaces := regexp.MustCompile(`<[^>]*>|\s+`)
	plain := func(w *httptest.ResponseRecorder) string {
		return strings.Join(strings.Fields(spaces.ReplaceAllString(w.Body.String(), " ")), " ")
	}
	checkText(t, "going", plain(going), []string{"Under way", "2 of 6 trials finished, 1 discarded; about 2 min left; last write 3 s ago", "1 done, 1 running, 0 partly done, 1 waiting",
		"✗ two held at once 1 FAIL ✗ FAIL mutual-exclusion, 1 violation", "lock0/contend+none ✓ done 2 2"}, []string{"stopped before its end"})
	checkText(t, "going", going.Body.String(), []string{`<noscript><meta http-equiv="refresh" content="2"></noscript>`, `data-every="1000"`}, []string{"result result-pass"})
	checkText(t, "killed", plain(killed), []string{"It was stopped before its end", "last write 2 h ago", "0 running", "1 interrupted"}, []string{"Under way"})
	checkText(t, "killed", killed.Body.String(), nil, []string{"http-equiv", "data-every"})
	if going.Header().Get("X-Running") == "" || killed.Header().Get("X-Running") != "" {
		t.Error("X-Running is wrong")
	}
	// When the run has ended, its page no longer says that the run is under way.
	writeRun(t, filepath.Join(dir, "20261120-115900-going"), theTime(), "x")
	if w := get(h, "/folder/20261120-115900-going"); w.Header().Get("X-Running") != "" || strings.Contains(w.Body.String(), "Under way") {
		t.Error("a run that ended is still under way")
	}
	// If a report is built for a killed run, the page shows the report but calls the run incomplete.
	if _, err := runreport.Build(filepath.Join(dir, "20261120-100000-killed")); err != nil {
		t.Fatal(err)
	}
	reported := get(h, "/folder/20261120-100000-killed")
	checkText(t, "reported", plain(reported), []string{"It was stopped before its end", "✗ two held at once: 1 1 FAIL", "Incomplete"}, nil)
	checkText(t, "reported", reported.Body.String(), nil, []string{"result result-pass"})
	// A lock in an unfinished run is not shown in green, even if it has excluded other clients so far.
	m := manifestOf(theTime().Add(-time.Hour), "sound", "broken")
	m.Ended = time.Time{}
	first := filepath.Join(dir, "20261118-100000-first")
	if err := runreport.WriteManifest(first, m); err != nil {
		t.Fatal(err)
	}
	setTimes(t, first, theTime().Add(-time.Hour))
	unfinished := get(h, "/folder/20261118-100000-first")
	checkText(t, "unfinished", plain(unfinished), []string{"■ stopped ✗ two held at once: 1 ? excluded: 1 so far 1 FAIL", "? excluded so far as expected"}, nil)
	checkText(t, "unfinished", unfinished.Body.String(), nil, []string{"result result-pass"})
	// A run counts as stopped if nothing has been written to its folder for the duration idleTimeout.
	writeGoing(t, filepath.Join(dir, "20261120-115901-going"), theTime())
	s.now = func() time.Time { return theTime().Add(2 * idleTimeout) }
	if w := get(h, "/folder/20261120-115901-going"); !strings.Contains(w.Body.String(), "stopped before its end") {
		t.Error("an idle run does not count as stopped")
	}
}

// TestCampaign checks the pages of campaigns that are under way, were stopped, and have ended.
func TestCampaign(t *testing.T) {
	dir := t.TempDir()
	s := serverOf(t, dir)
	h := s.Handler("127.0.0.1")
	write := func(name string, c campaign.State) {
		t.Helper()
		c.Version, c.Verb, c.What, c.Unit, c.Found = campaign.Version, "explore", "fenced, redlock@five", "seed", "2 seeds with a violation"
		if err := runreport.WriteJSON(filepath.Join(dir, name, campaign.StateName), c); err != nil {
			t.Fatal(err)
		}
	}
	start := theTime().Add(-100 * time.Second)
	going := campaign.State{Started: start, Written: theTime().Add(-time.Second), Done: 198, Planned: 1000, UnderWay: []string{"search"},
		Agents: []campaign.Agent{{Name: "north-17", Slots: 4, Running: 3, Done: 190}, {Name: "south-5", Slots: 2, Foreign: true}}}
	write("going", going)
	ended := going
	ended.Ended, ended.UnderWay, ended.Agents = start.Add(10*time.Minute), nil, nil
	write("ended", ended)
	write("run", going) // a run with agents has a state too
	writeGoing(t, filepath.Join(dir, "run"), theTime())
	stopped := going
	stopped.Written, stopped.Planned = theTime().Add(-time.Hour), 0
	write("stopped", stopped)
	write("newer", campaign.State{})
	if err := os.WriteFile(filepath.Join(dir, "newer", campaign.StateName), []byte(`{"lockbench_campaign":99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ended", "fenced-fencing.svg"), []byte("<svg/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string][]string{
		"/folder/going":   {"Under way", "198 of 1,000 seeds, 2.00 per second; 2 seeds with a violation; last write 1 s ago", "<li>search</li>", "2 agents with 4 slots", "north-17", "another version of lockbench", `data-every="1000"`, `max="1000" value="198"`},
		"/folder/ended":   {"done", "198 of 1,000 seeds, 0.330 per second", `src="/files/ended/fenced-fencing.svg"`, `href="/files/ended/fenced-fencing.json"`},
		"/folder/stopped": {"It was stopped before its end", "explore --resume"},
		"/folder/run":     {"Under way", "Newest trials", "2 agents with 4 slots", "north-17"},
		"/folder/newer":   {"format version 99"},
		"/":               {"explore fenced, redlock@five", "1 folder without a readable"},
	} {
		checkText(t, page, get(h, page).Body.String(), want, []string{"NaN"})
	}
	checkText(t, "stopped", get(h, "/folder/stopped").Body.String(), nil, []string{"data-every", "Under way", "<progress"})
	checkText(t, "ended", get(h, "/folder/ended").Body.String(), nil, []string{"data-every", "Agents"})
}

// TestRun checks that the server stops when its context ends.
func TestRun(t *testing.T) {
	l, err := Listen("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	s := serverOf(t, t.TempDir())
	go func() { ended <- s.Run(ctx, l, "127.0.0.1") }()
	r, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
