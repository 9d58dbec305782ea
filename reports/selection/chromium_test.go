package selection

import (
	"os"
	"path/filepath"
	"testing"

	"lockbench/internal/web/chromium"
)

// TestChromium loads report pages in Chromium and checks their layout, contrast and accessibility.
func TestChromium(t *testing.T) {
	ctx := chromium.Open(t)
	for name, r := range map[string]*Report{"sample": sample(), "nothing": turnedOut(NothingFits), "hostile": hostile(), "crowd": crowd()} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "index.html")
			if err := os.WriteFile(file, []byte(shown(t, r)), 0o644); err != nil {
				t.Fatal(err)
			}
			b := chromium.Load(t, ctx, file)
			b.Prints(".verdicts")
			b.Fits()
			b.Contrast()
			if name != "crowd" { // skip the report "crowd", which only repeats elements of other reports
				b.Accessible()
			}
			for _, c := range append(b.Complaints("emptyDrawings()"), b.Complaints("cutNames()")...) {
				t.Error(c)
			}
			b.Quiet()
		})
	}
}
