package run

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/internal/web/chromium"
)

// laneFile returns the timeline of a violation as a standalone SVG file.
func laneFile(t *testing.T) []byte {
	t.Helper()
	w := doubleGrant()
	w.Sentence = `client 2 & client 4 held <k0>, "both"`
	var b bytes.Buffer
	if err := WriteLanes(&b, "mutual-exclusion", w, []checker.Band{{Name: "clock-forward", Client: -1, From: w.From, To: w.To, Effective: true}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLaneFile checks that the file is valid SVG, fetches nothing, and has the expected elements.
func TestLaneFile(t *testing.T) {
	text := laneFile(t)
	d := xml.NewDecoder(bytes.NewReader(text))
	elements := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("it is no XML: %v\n%s", err, text)
		}
		if start, ok := token.(xml.StartElement); ok {
			elements[start.Name.Local]++
			if start.Name.Space != "http://www.w3.org/2000/svg" {
				t.Fatalf("<%s> is not SVG's", start.Name.Local)
			}
		}
	}
	if elements["svg"] != 1 || elements["style"] != 1 || elements["rect"] < 3 || elements["text"] < 5 {
		t.Errorf("it has %v", elements)
	}
	for _, outside := range []string{"href", "@import", "url(http", "<script"} {
		if strings.Contains(string(text), outside) {
			t.Errorf("it fetches %s", outside)
		}
	}
	for _, needed := range []string{"prefers-color-scheme: dark", ".lanes .hold {", "--hold-edge", "clock-forward", "two clients held at once"} {
		if !strings.Contains(string(text), needed) {
			t.Errorf("it has no %s", needed)
		}
	}
}

func TestLaneFileOfNothing(t *testing.T) {
	for _, w := range []*checker.Witness{nil, {}} {
		if err := WriteLanes(io.Discard, "mutual-exclusion", w, nil); err == nil {
			t.Error("a drawing without operations is not an error")
		}
	}
}

// TestLaneFileInChromium opens the timeline file in a browser, with a light and a dark colour scheme.
func TestLaneFileInChromium(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lanes.svg")
	if err := os.WriteFile(file, laneFile(t), 0o644); err != nil {
		t.Fatal(err)
	}
	b := chromium.Load(t, chromium.Open(t), file)
	grounds := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		b.Emulate("screen", scheme, 1280)
		ground := chromium.Evaluate[string](b, `getComputedStyle(document.documentElement).backgroundColor`)
		ink := chromium.Evaluate[string](b, `getComputedStyle(document.querySelector("text.name")).fill`)
		grounds[ground] = true
		if ground == ink || ground == "rgba(0, 0, 0, 0)" {
			t.Errorf("%s: %s on %s", scheme, ink, ground)
		}
	}
	if len(grounds) != 2 {
		t.Errorf("light and dark have the same ground: %v", grounds)
	}
	if wide := chromium.Evaluate[float64](b, `document.documentElement.getBoundingClientRect().width`); wide < 300 {
		t.Errorf("it is %v wide", wide)
	}
	b.Quiet()
}
