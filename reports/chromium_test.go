package reports

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "embed"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// measures is what is asked of a page while the browser shows it.
//
//go:embed testdata/measures.js
var measures string

// TestChromium looks at the sample report as a reader's browser shows it.
func TestChromium(t *testing.T) {
	program := chromium(t)
	dir, r := buildSample(t)
	ctx := openChromium(t, program)
	report := filepath.Join(dir, "report", "index.html")
	for _, c := range []struct {
		name  string
		check func(t *testing.T, b *browser)
	}{
		{"drawings", func(t *testing.T, b *browser) { b.checkDrawings(t, r) }},
		{"fits", checkFits},
		{"contrast", checkContrast},
		{"print", checkPrint},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := load(t, ctx, report)
			c.check(t, b)
			b.checkQuiet(t)
		})
	}
	t.Run("scenarios", func(t *testing.T) {
		scenarios := t.TempDir()
		writeScenarios(t, scenarios)
		if _, err := Build(scenarios); err != nil {
			t.Fatal(err)
		}
		b := load(t, ctx, filepath.Join(scenarios, "report", "index.html"))
		checkFits(t, b)
		checkContrast(t, b)
		b.checkQuiet(t)
	})
	t.Run("sales", func(t *testing.T) {
		sales := t.TempDir()
		writeSales(t, sales)
		if _, err := Build(sales); err != nil {
			t.Fatal(err)
		}
		b := load(t, ctx, filepath.Join(sales, "report", "index.html"))
		checkFits(t, b)
		checkContrast(t, b)
		b.checkQuiet(t)
	})
	viewers, _ := filepath.Glob(filepath.Join(dir, "report", "witness-*.html"))
	if len(viewers) == 0 {
		t.Error("no witness has a page of Porcupine's")
	}
	for _, file := range viewers {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b := load(t, ctx, file)
			if n := evaluate[int](b, `document.querySelectorAll("#canvas svg rect").length`); n < 3 {
				t.Errorf("Porcupine drew %d operations", n)
			}
			b.checkQuiet(t)
		})
	}
}

func chromium(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("chromium")
	switch {
	case err == nil:
	case slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), "chromium"):
		t.Fatal("chromium is not on the PATH, and LOCKBENCH_REQUIRE names it")
	default:
		t.Skip("chromium is not on the PATH: apt install chromium")
	}
	return program
}

// openChromium starts a browser that asks for nothing by itself, and ends it with the test, after a minute at most.
func openChromium(t *testing.T, program string) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("no-pings", true))
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil && ctx.Err() == nil {
			t.Error("end chromium:", err)
		}
		closeTab()
		end()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal("start chromium: ", err)
	}
	return ctx
}

// browser is one page in a tab of its own, and what it asked for and complained of.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	errors   []string
}

func load(t *testing.T, ctx context.Context, file string) *browser {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	b := &browser{t: t, ctx: ctx}
	page := (&url.URL{Scheme: "file", Path: file}).String()
	err := chromedp.Listen(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch ev := ev.(type) {
		case *network.EventRequestWillBeSent:
			if ev.Request.URL != page && !strings.HasPrefix(ev.Request.URL, "data:") {
				b.requests = append(b.requests, ev.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			b.errors = append(b.errors, ev.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			b.errors = append(b.errors, fmt.Sprint("console.", ev.Type))
		case *log.EventEntryAdded:
			b.errors = append(b.errors, ev.Entry.Text)
		}
	})
	if err == nil {
		_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	}
	if err == nil {
		err = chromedp.Do(ctx, chromedp.Navigate(page))
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func evaluate[T any](b *browser, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatalf("%v, asking %.200s", err, script)
	}
	return v
}

// complaints are what a function of measures.js found.
func (b *browser) complaints(call string) []string {
	b.t.Helper()
	return evaluate[[]string](b, "(() => {"+measures+"; return "+call+"})()")
}

func (b *browser) emulate(media, scheme string, width int64) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err == nil {
		err = chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900))
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// checkQuiet looks that nothing was fetched but the page, and nothing complained of.
func (b *browser) checkQuiet(t *testing.T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		t.Errorf("the page fetches %s", r)
	}
	for _, e := range b.errors {
		t.Errorf("the console has: %s", e)
	}
}

func (b *browser) checkDrawings(t *testing.T, r *Results) {
	plots, lanes := 0, 0
	for _, o := range r.Cells {
		if o.shown != nil {
			lanes++
		}
	}
	groups, err := r.workloads()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range groups {
		plots += strings.Count(string(w.Chart.SVG), "<svg")
	}
	if plots == 0 || lanes == 0 {
		t.Fatalf("the sample has %d plots and %d witnesses", plots, lanes)
	}
	evaluate[int](b, `document.querySelectorAll("details").forEach(d => d.open = true), 0`)
	if n := evaluate[int](b, `document.querySelectorAll("svg.lanes").length`); n != lanes {
		t.Errorf("%d drawings of %d witnesses", n, lanes)
	}
	if n := evaluate[int](b, `document.querySelectorAll("svg.plot, .plot svg").length`); n != plots {
		t.Errorf("%d plots, want %d", n, plots)
	}
	for _, c := range b.complaints("emptyDrawings()") {
		t.Error(c)
	}
}

// checkFits looks that no width makes the page scroll sideways, with everything unfolded.
func checkFits(t *testing.T, b *browser) {
	evaluate[int](b, `document.querySelectorAll("details").forEach(d => d.open = true), 0`)
	for _, width := range []int64{500, 800, 1280} {
		b.emulate("screen", "light", width)
		for _, c := range b.complaints("sideways()") {
			t.Errorf("at %d px: %s", width, c)
		}
	}
}

// checkContrast looks at every text of the page, on light and on dark.
func checkContrast(t *testing.T, b *browser) {
	evaluate[int](b, `document.querySelectorAll("details").forEach(d => d.open = true), 0`)
	for _, scheme := range []string{"light", "dark"} {
		b.emulate("screen", scheme, 1280)
		if dark := evaluate[bool](b, `matchMedia("(prefers-color-scheme: dark)").matches`); dark != (scheme == "dark") {
			t.Fatalf("the browser does not show the page in %s", scheme)
		}
		for _, c := range b.complaints("faint(4.5)") {
			t.Errorf("%s: %s", scheme, c)
		}
	}
}

// checkPrint looks at the page as it goes on A4 paper, where nobody can scroll or unfold.
func checkPrint(t *testing.T, b *browser) {
	b.emulate("print", "light", 718) // A4 at 96 px an inch, without margins of 1 cm
	for _, c := range b.complaints(`[...cut(), ...folded(), ...faint(4.5)]`) {
		t.Error(c)
	}
}
