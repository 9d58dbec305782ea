// Package chromium checks pages in a headless browser, for tests. Load opens a file as a Page, and Visit opens an address.
// The methods of Page check the page's network requests, log, layout, contrast and accessibility. A page must not request
// anything from other origins, and must log nothing. It must fit several screen widths and printed paper. It must have
// enough contrast in light and dark mode.
package chromium

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
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

// measures is the script that checks layout and contrast.
//
//go:embed measures.js
var measures string

// accessible is the script that checks accessibility.
//
//go:embed accessible.js
var accessible string

func program(t testing.TB) string {
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

// Open starts a browser that makes no background requests, such as update checks. The browser ends with the test, or after
// two minutes.
func Open(t testing.TB) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program(t)), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
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

// Page is a page in a separate tab of the browser. It records the console output and all requests that are not
// allowed.
type Page struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	requests []string // addresses of requests that are not allowed
	console  []string
}

// Load opens a file as a page. The page is not allowed to fetch anything else.
func Load(t testing.TB, ctx context.Context, file string) *Page {
	t.Helper()
	page := (&url.URL{Scheme: "file", Path: file}).String()
	return show(t, ctx, page, func(request string) bool { return request == page })
}

// Visit opens a page of a local server. The page may only fetch from that server.
func Visit(t testing.TB, ctx context.Context, page string) *Page {
	t.Helper()
	u, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	origin := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}).String()
	return show(t, ctx, page, func(request string) bool { return strings.HasPrefix(request, origin) })
}

// show opens a page in a new tab. The function own reports whether the page may request a URL.
func show(t testing.TB, ctx context.Context, page string, own func(request string) bool) *Page {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	b := &Page{t: t, ctx: ctx}
	err := chromedp.Listen(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch ev := ev.(type) {
		case *network.EventRequestWillBeSent:
			if !own(ev.Request.URL) && !strings.HasPrefix(ev.Request.URL, "data:") {
				b.requests = append(b.requests, ev.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			b.console = append(b.console, ev.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			b.console = append(b.console, fmt.Sprint("console.", ev.Type))
		case *log.EventEntryAdded:
			b.console = append(b.console, ev.Entry.Text)
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

// Evaluate runs a script on the page and returns its value.
func Evaluate[T any](b *Page, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatalf("%v in %.200s", err, script)
	}
	return v
}

// Complaints calls a function of measures.js or accessible.js on the page, and returns the list of problems that it
// found.
func (b *Page) Complaints(call string) []string {
	b.t.Helper()
	return Evaluate[[]string](b, b.wrapped(call))
}

// wrapped returns a script that calls a function of measures.js or accessible.js. The page cannot see the names of
// these functions.
func (b *Page) wrapped(call string) string {
	return "(() => {" + measures + accessible + "; return " + call + "})()"
}

// Emulate sets the medium, the colour scheme and the width of the page.
func (b *Page) Emulate(media, scheme string, width int64) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err := errors.Join(err, chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900))); err != nil {
		b.t.Fatal(err)
	}
}

// Quiet checks that the page made only allowed requests, and logged nothing to the console.
func (b *Page) Quiet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		b.t.Errorf("the page fetches %s", r)
	}
	for _, text := range b.console {
		b.t.Errorf("the console has: %s", text)
	}
}

func (b *Page) unfold() {
	Evaluate[int](b, `document.querySelectorAll("details").forEach(d => d.open = true), 0`)
}

// Fits unfolds the page and checks it at several widths. The page must not scroll sideways, and users must be able
// to scroll every scrollable element with keys.
func (b *Page) Fits() {
	b.unfold()
	for _, width := range []int64{400, 800, 1280} {
		b.Emulate("screen", "light", width)
		for _, c := range append(b.Complaints("sideways()"), b.Complaints("unscrollable()")...) {
			b.t.Errorf("at %d px: %s", width, c)
		}
	}
}

// Contrast checks the contrast of every text on the page, in light and dark mode. It complains if the page has fewer than
// 50 texts.
func (b *Page) Contrast() { b.ContrastOf(50) }

// ContrastOf checks the contrast of every text on the page, in light and dark mode. It also complains if the page has
// fewer texts than the parameter texts.
func (b *Page) ContrastOf(texts int) {
	b.inSchemes(func() []string { return b.Complaints(fmt.Sprintf("faint(4.5, %d)", texts)) })
}

// inSchemes opens all collapsed sections of the page, and runs a check in light and in dark mode.
func (b *Page) inSchemes(check func() []string) {
	b.t.Helper()
	b.unfold()
	for _, scheme := range []string{"light", "dark"} {
		b.Emulate("screen", scheme, 1280)
		if dark := Evaluate[bool](b, `matchMedia("(prefers-color-scheme: dark)").matches`); dark != (scheme == "dark") {
			b.t.Fatalf("the browser is not in %s mode", scheme)
		}
		for _, c := range check() {
			b.t.Errorf("%s: %s", scheme, c)
		}
	}
}

// Prints checks the page as printed on A4 paper. Readers of a printed page cannot scroll or unfold. main is a CSS
// selector of the page's main table.
func (b *Page) Prints(main string) {
	b.Emulate("print", "light", 718) // A4 at 96 px per inch, less margins of 1 cm
	for _, c := range b.Complaints(fmt.Sprintf(`[...cut(%q), ...folded(), ...faint(4.5)]`, main)) {
		b.t.Error(c)
	}
}
