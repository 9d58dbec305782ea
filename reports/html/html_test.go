package html

import (
	"encoding/json"
	"html/template"
	"strings"
	"testing"
	"testing/fstest"
)

func TestPage(t *testing.T) {
	own := fstest.MapFS{"own.tmpl": {Data: []byte(`{{define "title"}}{{.Name}}{{end}}
{{define "head"}}{{template "verdict" .Verdict}}{{template "tiles" .Tiles}}{{template "nav" (sections "a" "A" true "b" "B" .None)}}{{end}}
{{define "body"}}{{template "badge" .Badge}}{{template "table" (table "locks" "data" "lock" .More (abbr "goodput" "per second" "/s") (number "n"))}}{{template "cells" .Rows}}{{template "endtable"}}{{template "legend" .Keys}}{{template "fold" (fold "m" "Method" "two rules")}}text{{template "endfold"}}{{end}}
{{define "foot"}}{{shout .Name}}{{end}}`)}}
	text, err := Page(own, template.FuncMap{"shout": strings.ToUpper}, map[string]any{
		"Name": "a<b\u202e\x1b", "None": []int{}, "More": []string{"ttl"}, "Rows": [][]string{{"redlock", "1"}},
		"Verdict": Verdict{Tone: Bad, Headline: "It breaks."},
		"Tiles":   []Tile{{"result-pass", "✓", "12", "pass"}},
		"Badge":   Badge{"result-pass", "✓", "pass"},
		"Keys":    []Key{{Badge{"good", "✓", "yes"}, "never"}, {Badge{Word: "1.00"}, ""}},
	}, "*.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<title>a&lt;b\uFFFD\uFFFD</title>", `<h1 class="tone-bad">It breaks.</h1>`, `<li class="result-pass"><b>12</b> <span><i aria-hidden="true">✓</i> pass</span></li>`,
		`<nav aria-label="Sections"><a href="#a">A</a> </nav>`, `<span class="result result-pass"><i aria-hidden="true">✓</i> pass</span>`,
		`tabindex="0" role="region" aria-label="Table: locks"><table class="data">`, `<th scope="col">lock</th><th scope="col">ttl</th><th scope="col"><abbr title="per second">goodput</abbr> /s</th><th scope="col" class="number">n</th>`,
		`<tr><th scope="row">redlock</th><td>1</td></tr>`, `<span class="good"><i aria-hidden="true">✓</i> <b>yes</b></span> never</span>`, `<summary><h2>Method</h2> <span>two rules</span></summary><div id="m">text</div></details>`,
		"<p>A&lt;B\uFFFD\uFFFD</p>", "--ground: #fdfcfa",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), `#b"`) {
		t.Error("the nav has a section that is empty")
	}
}

func TestScriptKeepsTheValue(t *testing.T) {
	const value = "</script>\u202e\u200d\U000e0041\u2028\x1b"
	script, err := Script([]string{value})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range string(script) {
		if c > 0x7e || c < ' ' {
			t.Errorf("%q is not escaped", c)
		}
	}
	var back []string
	if err := json.Unmarshal([]byte(script), &back); err != nil || back[0] != value {
		t.Errorf("read back: %q, %v", back, err)
	}
}
