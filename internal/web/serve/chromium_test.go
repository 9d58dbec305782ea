package serve

import (
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"lockbench/internal/web/chromium"
)

// liveServer starts an HTTP server for result folders of every kind.
func liveServer(t *testing.T) (s *Server, address string) {
	t.Helper()
	s = serverOf(t, writeAll(t))
	live := httptest.NewServer(s.Handler("127.0.0.1"))
	t.Cleanup(live.Close)
	return s, live.URL
}

// TestChromium checks accessibility, layout and contrast of the pages of result folders.
func TestChromium(t *testing.T) {
	lookAt(t, map[string]string{
		"list":      "/",
		"run":       "/folder/20261118-100000-first",
		"stopped":   "/folder/20261120-100000-killed",
		"going":     "/folder/20261120-115900-going",
		"hostile":   "/folder/20261114-hostile",
		"bench":     "/folder/20261117-bench-a",
		"advice":    "/folder/20261115-advice",
		"not there": "/folder/nowhere",
	})
}

// TestChromiumMore checks pages of histories and comparisons. It starts another browser, because a browser ends after two
// minutes.
func TestChromiumMore(t *testing.T) {
	lookAt(t, map[string]string{
		"runs":    "/compare?a=20261118-100000-first&b=20261119-100000-second",
		"benches": "/compare?a=20261117-bench-a&b=20261117-bench-b",
		"history": "/history/20261118-100000-first/lock1/contend+none/001",
		"whole":   "/history/20261118-100000-first/lock0/contend+none/001?from=0&to=1000",
		"hostile": "/history/20261114-hostile/lock0/contend+none/001",
	})
}

func lookAt(t *testing.T, pages map[string]string) {
	t.Helper()
	ctx := chromium.Open(t)
	_, address := liveServer(t)
	for name, path := range pages {
		t.Run(name, func(t *testing.T) {
			b := chromium.Visit(t, ctx, address+path)
			b.Accessible()
			b.Fits()
			b.ContrastOf(8)
			if name != "not there" { // for a missing page, the browser logs status 404 on the console
				b.Quiet()
			}
		})
	}
}

// TestReports checks that report pages on the server work as they do when opened as files. They must fetch nothing.
func TestReports(t *testing.T) {
	ctx := chromium.Open(t)
	_, address := liveServer(t)
	report := chromium.Visit(t, ctx, address+"/files/20261118-100000-first/report/index.html")
	if !chromium.Evaluate[bool](report, `getComputedStyle(document.querySelector("h1")).borderLeftStyle == "solid" && document.querySelectorAll("svg.lanes").length > 0`) {
		t.Error("the report has no style, or no drawings")
	}
	report.Quiet()
	chromium.Evaluate[int](report, `document.querySelector("a[href$='.html']").click(), 0`)
	drawn := report
	drawn.Await(`location.pathname.includes("/example-") && document.readyState == "complete"`)
	if n := chromium.Evaluate[int](drawn, `document.querySelectorAll("#canvas svg rect").length`); n < 3 {
		t.Errorf("Porcupine drew %d operations", n)
	}
	if chromium.Evaluate[string](drawn, `self.origin`) != "null" {
		t.Error("a report's script has the origin of the server's pages")
	}
	bench := chromium.Visit(t, ctx, address+"/files/20261117-bench-a/report/index.html")
	drawn.Quiet()
	bench.Quiet()
}

// TestKeyboard uses only the keyboard to open a run and a history, and to move the window of the history.
func TestKeyboard(t *testing.T) {
	ctx := chromium.Open(t)
	_, address := liveServer(t)
	b := chromium.Visit(t, ctx, address+"/")
	b.Emulate("screen", "light", 1280)
	tabTo := func(what, selector string) {
		t.Helper()
		for range 80 {
			b.Press(chromium.Tab)
			if chromium.Evaluate[bool](b, `document.activeElement.matches(`+"`"+selector+"`"+`)`) {
				return
			}
		}
		t.Fatalf("80 presses of Tab do not reach %s", what)
	}
	b.Press(chromium.Tab)
	if !chromium.Evaluate[bool](b, `document.activeElement.matches(".skip") && document.activeElement.getBoundingClientRect().top >= 0`) {
		t.Error("the first stop is not a visible skip link")
	}
	// Typing into the filter shortens the list and keeps the focus.
	tabTo("the filter", "#filter")
	b.Press("first")
	b.Await(`document.querySelectorAll("table.folders tbody tr").length == 1 && document.activeElement.id == "filter" && location.search == "?q=first"`)
	tabTo("the run", `a[href="/folder/20261118-100000-first"]`)
	b.Press(chromium.Enter)
	b.Await(`location.pathname == "/folder/20261118-100000-first" && document.readyState == "complete"`)
	tabTo("the history", `a[href$="lock1/contend+none/001"]`)
	b.Press(chromium.Enter)
	b.Await(`location.pathname.startsWith("/history/") && document.readyState == "complete" && !!document.querySelector("#lanes .hold")`)

	from, to := `Number(document.getElementById("from").value)`, `Number(document.getElementById("to").value)`
	width := func() float64 { t.Helper(); return chromium.Evaluate[float64](b, to+" - "+from) }
	whole := width()
	b.Press("+")
	b.Await(to + " - " + from + " < " + number(whole*.6))
	at := chromium.Evaluate[float64](b, from)
	b.Press(chromium.Left)
	b.Await(from + " < " + number(at))
	b.Press(chromium.Home)
	b.Await(from + " == 0")
	b.Press(chromium.End)
	b.Await(to + " == 61")
	b.Press("-")
	b.Await(to + " - " + from + " > " + number(whole*.6))
	b.Press("0")
	b.Await(from + " == 0 && " + to + " == 61")
	if !chromium.Evaluate[bool](b, `location.search.includes("from=0") && location.search.includes("to=61")`) {
		t.Error("the address does not contain the view")
	}
	// Select a client with the keyboard, then go back in the browser history.
	tabTo("the clients", "#client")
	b.Press("1")
	b.Await(`location.search.includes("client=1") && document.querySelectorAll("#lanes .lane").length == 2 && document.activeElement.id == "client"`)
	chromium.Evaluate[int](b, `history.back(), 0`)
	b.Await(`!location.search.includes("client=") && document.querySelectorAll("#lanes .lane").length > 2`)
	// Keys typed into a field do not move the window.
	tabTo("the beginning", "#from")
	b.Press("-")
	if got := chromium.Evaluate[string](b, `location.search`); got == "" {
		t.Error("the view was lost")
	}
	// A link to a violation or an overlap moves the window.
	tabTo("a jump", "a[data-jump]")
	b.Press(chromium.Enter)
	b.Await(from + " == 15 && " + to + " == 35")
	b.Quiet()
}

// TestLive checks that the page of a run under way updates without a reload, and changes when the run ends.
func TestLive(t *testing.T) {
	ctx := chromium.Open(t)
	s, address := liveServer(t)
	last := theTime().Add(-time.Second)
	dir := s.dir + "/20261120-115900-going"
	b := chromium.Visit(t, ctx, address+"/folder/20261120-115900-going")
	b.Await(`document.getElementById("status").textContent.includes("2 of 6 trials finished")`)
	chromium.Evaluate[int](b, `window.same = 1`)
	writeGoing(t, dir, last)
	b.Await(`document.getElementById("status").textContent.includes("last write 1 s ago") && window.same == 1`)
	writeRun(t, dir, theTime(), "x")
	b.Await(`!document.querySelector("[data-every]") && document.body.textContent.includes("Compare with")`)
	b.Quiet()
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
