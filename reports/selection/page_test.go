package selection

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files again")

func shown(t *testing.T, r *Report) string {
	t.Helper()
	b, err := Page(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func markdown(t *testing.T, r *Report) string {
	t.Helper()
	b, err := Markdown(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func summary(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// everyKind returns sample reports of all kinds, by name.
func everyKind() map[string]*Report {
	return map[string]*Report{"a lock": sample(), "a tie": turnedOut(ATie), "no lock": turnedOut(NoLockNeeded), "nothing": turnedOut(NothingFits), "hostile": hostile(), "bare": bare(), "odd": odd(), "crowd": crowd()}
}

func TestGolden(t *testing.T) {
	for name, got := range map[string]string{
		"decision.md": markdown(t, sample()), "summary.txt": summary(t, sample()),
		"tie.txt": summary(t, turnedOut(ATie)), "nolock.txt": summary(t, turnedOut(NoLockNeeded)), "nothing.txt": summary(t, turnedOut(NothingFits)),
	} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
			t.Errorf("%s (-update writes it again):\n%s", name, d)
		}
	}
}

// TestReadPage checks that ReadPage returns the report from an HTML page. The report must render to the same page,
// Markdown and text again.
func TestReadPage(t *testing.T) {
	for name, r := range everyKind() {
		t.Run(name, func(t *testing.T) {
			got := shown(t, r)
			back, err := ReadPage([]byte(got))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(got, "\n"), strings.Split(shown(t, back), "\n")); d != "" {
				t.Errorf("the page differs after reading it:\n%s", d)
			}
			if markdown(t, r) != markdown(t, back) || summary(t, r) != summary(t, back) {
				t.Error("Markdown or text differ")
			}
			want, err := Scrubbed(r)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, back); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadPageRefuses(t *testing.T) {
	good := shown(t, sample())
	for name, text := range map[string]string{
		"nothing": "", "another page": "<!doctype html><p>hello", "twice": good + good, "cut short": good[:strings.Index(good, embeddedBegins)+100],
		"another version": strings.Replace(good, `"lockbench_advice":4`, `"lockbench_advice":3`, 1), "an unknown field": strings.Replace(good, `{"lockbench_advice"`, `{"more":1,"lockbench_advice"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := ReadPage([]byte(text)); err == nil || r != nil {
				t.Errorf("it was read: %v", r)
			}
		})
	}
}

// TestPage checks the sections, ids, links and drawings of a page.
func TestPage(t *testing.T) {
	for name, r := range everyKind() {
		t.Run(name, func(t *testing.T) {
			got := shown(t, r)
			checkOffline(t, got)
			checkIDs(t, got)
			checkDrawings(t, got)
			last := 0
			for _, id := range []string{"eliminated", "survivors", "reasons", "changes", "lease", "asked", "conditions", "evidence", "sources", "method"} {
				if id == "lease" && r.Lease == nil {
					continue
				}
				at := strings.Index(got, fmt.Sprintf(` id="%s">`, id))
				if at < last || !strings.Contains(got, fmt.Sprintf(`<a href="#%s">`, id)) {
					t.Errorf("section %s is missing, not in its place, or nothing leads to it", id)
				}
				last = max(last, at)
			}
		})
	}
}

// checkOffline checks that a page has no scripts and no links to a network.
func checkOffline(t *testing.T, page string) {
	t.Helper()
	data := regexp.MustCompile(`(?s)<script type="application/json" id="advice">.*?</script>`)
	rest := data.ReplaceAllString(page, "")
	if n := len(data.FindAllString(page, -1)); n != 1 {
		t.Errorf("the report is embedded %d times", n)
	}
	for _, foreign := range []string{"<script", "<link", "@import", "url(", "<iframe", "<img", "<svg onload", "src="} {
		if strings.Contains(strings.ReplaceAll(rest, "&#34;&gt;&lt;img src=x&gt;", ""), foreign) {
			t.Errorf("the page has %q", foreign)
		}
	}
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(rest, -1) {
		if strings.Contains(m[1], ":") || strings.HasPrefix(m[1], "/") || strings.HasPrefix(m[1], "#ZgotmplZ") {
			t.Errorf("a link leads to %q", m[1])
		}
	}
}

// checkIDs checks that ids are unique and that the targets of links exist.
func checkIDs(t *testing.T, page string) {
	t.Helper()
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] || strings.ContainsAny(m[1], ` &#<>`) {
			t.Errorf("the id %q is there twice, or is none", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !ids[m[1]] {
			t.Errorf("a link leads to #%s, which is not there", m[1])
		}
	}
}

// checkDrawings checks that each drawing has a title, a description and a data table.
func checkDrawings(t *testing.T, page string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?s)<svg ([^>]*)>(<title id="([^"]*)">[^<]+</title><desc id="([^"]*)">[^<]+</desc>)?`).FindAllStringSubmatch(page, -1) {
		if m[2] == "" || !strings.Contains(m[1], `role="img"`) || !strings.Contains(m[1], fmt.Sprintf(`aria-labelledby="%s %s"`, m[3], m[4])) {
			t.Errorf("a drawing without a role, a title or a description: %s", m[1])
		}
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf ") {
		t.Error("a drawing has a coordinate that is not a number")
	}
	if svgs, tables := strings.Count(page, "<svg "), strings.Count(page, "The chart as a table"); svgs != tables {
		t.Errorf("%d drawings, %d tables of them", svgs, tables)
	}
}

// TestVerdicts checks that the page, the text and the decision record begin with a symbol and a sentence for the outcome.
func TestVerdicts(t *testing.T) {
	for outcome, want := range map[Outcome][]string{
		OneLock:      {"✓", "Choose fenced on one redis server, with a lease of 10 s"},
		ATie:         {"≈", "Choose fenced on one redis server or etcd on one etcd server: a tie"},
		NoLockNeeded: {"◇", "No lock is needed: use compare-and-set", "fenced on one redis server, with a lease of 10 s"},
		NothingFits:  {"✗", "No recommendation: no candidate is known to meet all requirements", "eliminated only because of unknown answers"},
	} {
		t.Run(string(outcome), func(t *testing.T) {
			r := turnedOut(outcome)
			page, text := shown(t, r), summary(t, r)
			for _, w := range want {
				if !strings.Contains(page, w) || !strings.Contains(text, w) {
					t.Errorf("%q is missing", w)
				}
			}
			if md := markdown(t, r); !strings.Contains(md, "# "+want[1]) {
				t.Errorf("the record has another title: %.200s", md)
			}
		})
	}
}

// TestUnknownIsNoYes checks that a missing or invalid answer is shown as unknown.
func TestUnknownIsNoYes(t *testing.T) {
	r := sample()
	for i, c := range r.Cells {
		if c.Option == "fenced" && c.Of == "exclusion" {
			r.Cells[i].Answer, r.Cells[i].Tag = "of course", "certain"
		}
		if c.Option == "fenced" && c.Of == "restart" {
			r.Cells[i].Of = "something else"
		}
	}
	got := shown(t, r)
	row := regexp.MustCompile(`(?s)<th scope="row"><a href="#option-6">.*?</tr>`).FindString(got)
	if n := strings.Count(row, `aria-label="unknown"`); n != 2 || strings.Count(row, `aria-label="yes"`) != len(r.Requirements)-2 {
		t.Errorf("a missing answer is a yes: %s", row)
	}
}

// TestHostile checks that text from files is never shown as markup, and that no output format contains a password.
func TestHostile(t *testing.T) {
	r := hostile()
	page, md, text := shown(t, r), markdown(t, r), summary(t, r)
	for face, got := range map[string]string{"page": page, "markdown": md, "text": text} {
		if strings.Contains(got, "s3cret") {
			t.Errorf("%s: it has a password", face)
		}
	}
	if n := strings.Count(page, "&lt;script&gt;alert(1)"); n < 20 {
		t.Errorf("the name occurs only %d times", n)
	}
	if links := regexp.MustCompile(`href="[^#"][^"]*"`).FindAllString(page, -1); len(links) > 0 {
		t.Errorf("links to unsafe paths: %q", links)
	}
	plain := regexp.MustCompile("`[^`\n]*`").ReplaceAllString(strings.ReplaceAll(md, "\\`", ""), "")
	for _, markup := range []string{"<", "`", "]("} {
		if at := strings.Index(strings.ReplaceAll(plain, `\](`, ""), markup); at >= 0 {
			t.Errorf("a name is markup in Markdown: %.200s", plain[at:])
		}
	}
	for _, c := range []string{"\x1b", "\u202e"} {
		if strings.Contains(text, c) || strings.Contains(md, c) {
			t.Errorf("%q is in the text or the record", c)
		}
	}
	if shows, _, _ := strings.Cut(page, embeddedBegins); strings.ContainsAny(shows, "\x1b\u202e") {
		t.Error("the page has control characters")
	}
	if !strings.Contains(page, "redis://***@h:6379") {
		t.Error("the command is missing")
	}
}

// TestTraced checks that the page links each item of evidence to its folder and histories. The page must also show the
// command that verifies the item.
func TestTraced(t *testing.T) {
	got := shown(t, sample())
	for _, want := range []string{
		`<a class="id" href="#P16">P16</a>`, `<th scope="row" id="P16">P16</th>`, `href="../runs/inventory-run/cells/setnx-exclusion"`,
		`href="../runs/inventory-run/cells/setnx/trial-1/history.jsonl.zst"`, `title="2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae">2c26b46b68ff</code>`,
		`lockbench verify-report FILE P16<`, `<a class="id" href="#R1">R1</a>`, `<h3 id="R1">`, `(lock: redis, single; a lease that is renewed; fencing tokens)`, `<th scope="row"><a href="#option-6"><bdi>fenced</bdi></a></th><td class="why">✓ <b>recommended</b></td>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(got, `href="../runs/inventory-run/"`) {
		t.Error("a history that was not stored is linked")
	}
}

// TestSameBytes checks that rendering a report twice gives the same bytes and does not change the report.
func TestSameBytes(t *testing.T) {
	for name, r := range everyKind() {
		before, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		for face, of := range map[string]func(*testing.T, *Report) string{"page": shown, "markdown": markdown, "text": summary} {
			if first, second := of(t, r), of(t, r); first != second {
				t.Errorf("%s: two of its %ss differ", name, face)
			}
		}
		if after, _ := json.Marshal(r); !bytes.Equal(before, after) {
			t.Errorf("%s: to show a report has changed it", name)
		}
	}
}
