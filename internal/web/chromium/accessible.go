package chromium

import (
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Keys for Page.Press.
const (
	Tab   = kb.Tab
	Enter = kb.Enter
	Home  = kb.Home
	End   = kb.End
	Left  = kb.ArrowLeft
)

// mostStops is the maximum number of controls, such as links and buttons, that the method walk checks on a page.
const mostStops = 600

// Accessible checks whether people can use the page without a mouse or without seeing it. It checks names, headings and
// landmarks. It also checks that text accompanies colours, and that each control shows its focus. It unfolds the page
// first, and checks it in light and dark mode.
func (b *Page) Accessible() {
	b.t.Helper()
	b.inSchemes(func() []string { return append(b.Complaints("barriers()"), b.walk()...) })
}

// walk presses the Tab key until every control of the page has had the focus, but at most mostStops times. It returns
// complaints about the controls.
func (b *Page) walk() []string {
	b.t.Helper()
	stops := Evaluate[int](b, b.wrapped("setOut()"))
	for range min(stops, mostStops) + 1 {
		b.Press(Tab)
		if !Evaluate[bool](b, b.wrapped("step()")) {
			break
		}
	}
	if stops > mostStops {
		return b.Complaints("window.lockbenchWalk.complaints")
	}
	return b.Complaints("arrived()")
}

// Press sends keys, one after another, to the element that has the focus.
func (b *Page) Press(keys string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.KeyEvent(keys)); err != nil {
		b.t.Fatal(err)
	}
}

// Await runs a script repeatedly until it returns true, for at most 20 seconds. Errors are ignored, because the page
// may still be loading.
func (b *Page) Await(script string) {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if yes, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](script)); err == nil && yes {
			return
		}
	}
	b.t.Fatalf("timeout: %.200s", script)
}
