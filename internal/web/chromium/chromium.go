// Package chromium shows pages in a headless browser, for tests: what a page fetches and complains of, and whether it can
// be read at every width, on light and dark, and on paper, and whether it can be used without eyes or a mouse.
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

// measures is what is asked of a page while the browser shows it.
//
//go:embed measures.js
var measures string

// accessible is what is asked about those who do not see the page, or have no mouse.
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

// Open starts a browser that asks for nothing by itself, and ends it with the test, after two minutes at most.
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

// Page is one page in a tab of its own, and what it asked for and complained of.
type Page struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	requests []string // elsewhere
	console  []string
}

// Load shows a file, which may ask for nothing.
func Load(t testing.TB, ctx context.Context, file string) *Page {
	t.Helper()
	page := (&url.URL{Scheme: "file", Path: file}).String()
	return show(t, ctx, page, func(request string) bool { return request == page })
}

// Visit shows a page of a server on this machine, which may ask that server for more.
func Visit(t testing.TB, ctx context.Context, page string) *Page {
	t.Helper()
	u, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	origin := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}).String()
	return show(t, ctx, page, func(request string) bool { return strings.HasPrefix(request, origin) })
}

// show opens a page in a tab of its own; own tells which requests are no others' business.
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

// Evaluate asks the page by a script.
func Evaluate[T any](b *Page, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatalf("%v, asking %.200s", err, script)
	}
	return v
}

// Complaints are what a function of measures.js or accessible.js found.
func (b *Page) Complaints(call string) []string {
	b.t.Helper()
	return Evaluate[[]string](b, b.asked(call))
}

// asked is a call of one of our functions, which hides its names from those of the page.
func (b *Page) asked(call string) string {
	return "(() => {" + measures + accessible + "; return " + call + "})()"
}

// Emulate shows the page on a medium, in a colour scheme and a width.
func (b *Page) Emulate(media, scheme string, width int64) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err := errors.Join(err, chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900))); err != nil {
		b.t.Fatal(err)
	}
}

// Quiet looks that nothing was fetched but the page, and nothing complained of.
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

// Fits checks that no width makes the page scroll sideways, and that what scrolls within it does so with keys too, with
// everything unfolded.
func (b *Page) Fits() {
	b.unfold()
	for _, width := range []int64{500, 800, 1280} {
		b.Emulate("screen", "light", width)
		for _, c := range append(b.Complaints("sideways()"), b.Complaints("unscrollable()")...) {
			b.t.Errorf("at %d px: %s", width, c)
		}
	}
}

// Contrast looks at every text of a page of some length, on light and on dark.
func (b *Page) Contrast() { b.ContrastOf(50) }

// ContrastOf looks at every text of the page, of which there must be so many, on light and on dark.
func (b *Page) ContrastOf(texts int) {
	b.inSchemes(func() []string { return b.Complaints(fmt.Sprintf("faint(4.5, %d)", texts)) })
}

// inSchemes reports what a check finds on the unfolded page, on light and on dark.
func (b *Page) inSchemes(check func() []string) {
	b.t.Helper()
	b.unfold()
	for _, scheme := range []string{"light", "dark"} {
		b.Emulate("screen", scheme, 1280)
		if dark := Evaluate[bool](b, `matchMedia("(prefers-color-scheme: dark)").matches`); dark != (scheme == "dark") {
			b.t.Fatalf("the browser does not show the page in %s", scheme)
		}
		for _, c := range check() {
			b.t.Errorf("%s: %s", scheme, c)
		}
	}
}

// Prints looks at the page as it goes on A4 paper, where nobody can scroll or unfold; main selects its main table.
func (b *Page) Prints(main string) {
	b.Emulate("print", "light", 718) // A4 at 96 px an inch, without margins of 1 cm
	for _, c := range b.Complaints(fmt.Sprintf(`[...cut(%q), ...folded(), ...faint(4.5)]`, main)) {
		b.t.Error(c)
	}
}
