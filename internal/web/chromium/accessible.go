package chromium

import (
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Keys that have no letter.
const (
	Tab   = kb.Tab
	Enter = kb.Enter
	Home  = kb.Home
	End   = kb.End
	Left  = kb.ArrowLeft
)

// mostStops is how many stops the walk over a page makes at most: a page of many thousand links is looked at in part.
const mostStops = 600

// Accessible looks whether somebody can use the page who does not see it, or has no mouse: names, headings, landmarks,
// words beside colours, and that the Tab key leads everywhere and shows where. On light and on dark, with everything unfolded.
func (b *Page) Accessible() {
	b.t.Helper()
	b.inSchemes(func() []string { return append(b.Complaints("barriers()"), b.walk()...) })
}

// walk goes over the page with the Tab key, and says what went wrong on the way.
func (b *Page) walk() []string {
	b.t.Helper()
	stops := Evaluate[int](b, b.asked("setOut()"))
	for range min(stops, mostStops) + 1 {
		b.Press(Tab)
		if !Evaluate[bool](b, b.asked("step()")) {
			break
		}
	}
	if stops > mostStops {
		return b.Complaints("window.lockbenchWalk.complaints")
	}
	return b.Complaints("arrived()")
}

// Press presses keys, one after another, wherever the focus is.
func (b *Page) Press(keys string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.KeyEvent(keys)); err != nil {
		b.t.Fatal(err)
	}
}

// Await waits, within a bound, until a script says true of the page, also of one that is being loaded.
func (b *Page) Await(script string) {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if yes, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](script)); err == nil && yes {
			return
		}
	}
	b.t.Fatalf("it did not come about: %.200s", script)
}
