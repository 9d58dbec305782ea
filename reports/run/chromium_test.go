package run

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/internal/web/chromium"
)

// TestChromium checks the sample report in a browser.
func TestChromium(t *testing.T) {
	dir, r := buildSample(t)
	ctx := chromium.Open(t)
	report := filepath.Join(dir, "report", "index.html")
	for name, check := range map[string]func(t *testing.T, b *chromium.Page){
		"drawings": func(t *testing.T, b *chromium.Page) { checkDrawings(t, b, r) },
		"fits":     func(_ *testing.T, b *chromium.Page) { b.Fits() },
		"contrast": func(_ *testing.T, b *chromium.Page) { b.Contrast() },
		"access":   func(_ *testing.T, b *chromium.Page) { b.Accessible() },
		"overview": func(t *testing.T, b *chromium.Page) { checkOverview(t, b) },
		"print":    func(_ *testing.T, b *chromium.Page) { b.Prints("table.overview") },
	} {
		t.Run(name, func(t *testing.T) {
			b := chromium.Load(t, ctx, report)
			check(t, b)
			b.Quiet()
		})
	}
	t.Run("scenarios", func(t *testing.T) {
		scenarios := t.TempDir()
		writeScenarios(t, scenarios)
		if _, err := Build(scenarios); err != nil {
			t.Fatal(err)
		}
		b := chromium.Load(t, ctx, filepath.Join(scenarios, "report", "index.html"))
		b.Fits()
		b.Contrast()
		b.Quiet()
	})
	t.Run("sales", func(t *testing.T) {
		sales := t.TempDir()
		writeSales(t, sales)
		if _, err := Build(sales); err != nil {
			t.Fatal(err)
		}
		b := chromium.Load(t, ctx, filepath.Join(sales, "report", "index.html"))
		b.Fits()
		b.Contrast()
		b.Quiet()
	})
	viewers, _ := filepath.Glob(filepath.Join(dir, "report", "example-*.html"))
	if len(viewers) == 0 {
		t.Error("no example has a page of Porcupine's viewer")
	}
	for _, file := range viewers {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b := chromium.Load(t, ctx, file)
			if n := chromium.Evaluate[int](b, `document.querySelectorAll("#canvas svg rect").length`); n < 3 {
				t.Errorf("Porcupine drew %d operations", n)
			}
			b.Quiet()
		})
	}
}

// checkOverview checks that the legend and the first lock are on the first screen. On a narrow screen, a hint must say
// that the table scrolls. The first column must stay in place.
func checkOverview(t *testing.T, b *chromium.Page) {
	const top = `document.querySelector("%s").getBoundingClientRect().top`
	b.Emulate("screen", "light", 1280)
	legend, table := chromium.Evaluate[float64](b, fmt.Sprintf(top, ".legend")), chromium.Evaluate[float64](b, fmt.Sprintf(top, ".overview tbody"))
	if legend >= table || table > 600 {
		t.Errorf("the legend is at %v px, the first lock at %v px", legend, table)
	}
	const region = `document.querySelector("#overview .scroll")`
	const hint = `getComputedStyle(` + region + `, "::before").display`
	if got := awaited(b, hint, "none"); got != "none" {
		t.Errorf("a table that fits says that it scrolls: %s", got)
	}
	b.Emulate("screen", "light", 400)
	if got := awaited(b, hint, "block"); got != "block" {
		t.Errorf("a table that is cut does not say that it scrolls: %s", got)
	}
	moved := chromium.Evaluate[float64](b, region+`.scrollLeft = 60, `+region+`.querySelector("tbody th").getBoundingClientRect().left - `+region+`.getBoundingClientRect().left`)
	if scrolled := chromium.Evaluate[float64](b, region+`.scrollLeft`); moved != 0 || scrolled != 60 {
		t.Errorf("scrolled by %v px, the first column is at %v px", scrolled, moved)
	}
}

// awaited evaluates a script until it returns the wanted value, for at most ten seconds. It returns the last result.
// Repetition is necessary, because a page adopts a new width only at its next frame.
func awaited(b *chromium.Page, script, want string) (got string) {
	for end := time.Now().Add(10 * time.Second); got != want && time.Now().Before(end); {
		got = chromium.Evaluate[string](b, script)
	}
	return got
}

func checkDrawings(t *testing.T, b *chromium.Page, r *Results) {
	plots, lanes := 0, 0
	for _, o := range r.Cells {
		if o.shown != nil {
			lanes++
		}
	}
	for _, w := range r.workloads() {
		plots += strings.Count(string(w.Chart.SVG), "<svg")
	}
	if plots == 0 || lanes == 0 {
		t.Fatalf("the sample has %d plots and %d examples", plots, lanes)
	}
	chromium.Evaluate[int](b, `document.querySelectorAll("details").forEach(d => d.open = true), 0`)
	if n := chromium.Evaluate[int](b, `document.querySelectorAll("svg.lanes").length`); n != lanes {
		t.Errorf("%d drawings of %d examples", n, lanes)
	}
	if n := chromium.Evaluate[int](b, `document.querySelectorAll("svg.plot:not(.lanes, .histogram)").length`); n != plots {
		t.Errorf("%d plots, want %d", n, plots)
	}
	for _, c := range b.Complaints("emptyDrawings()") {
		t.Error(c)
	}
}
