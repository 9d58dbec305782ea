package bench_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockbench/reports/bench"
	"lockbench/reports/format"
)

var update = flag.Bool("update", false, "write the golden files anew")

// read returns the results of a bench with synthetic data.
func read(t *testing.T, o options) *bench.Results {
	t.Helper()
	r, err := makeResults(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// small returns a bench with one set of conditions. The self-checks would need more conditions, so they are marked as
// passed.
func small(t *testing.T, o options) *bench.Results {
	t.Helper()
	o.OnlyContend4 = true
	r := read(t, o)
	r.Withheld = nil
	for i := range r.Checks {
		r.Checks[i].OK = true
	}
	return r
}

func page(t *testing.T, r *bench.Results) string {
	t.Helper()
	b, err := bench.Page(r)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("0 ms")) {
		t.Error("a line may break between a number and its unit")
	}
	return strings.ReplaceAll(string(b), "\u00a0", " ")
}

func text(t *testing.T, r *bench.Results) string {
	t.Helper()
	var b bytes.Buffer
	if err := bench.Text(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func markdown(t *testing.T, r *bench.Results) string {
	t.Helper()
	b, err := bench.Markdown(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// body returns the HTML page without its style sheet.
func body(page string) string {
	return regexp.MustCompile(`(?s)<style>.*</style>`).ReplaceAllString(page, "<style></style>")
}

func TestGolden(t *testing.T) {
	r := small(t, options{Blocks: 8, Unsafe: []string{"set-px-lua"}})
	for name, got := range map[string]string{"page.html": body(page(t, r)), "report.md": markdown(t, r), "summary.txt": text(t, r)} {
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
			t.Errorf("%s (write it anew with -update):\n%s", name, d)
		}
	}
}

// TestPage checks a report that has every section.
func TestPage(t *testing.T) {
	r := read(t, options{Unsafe: []string{"set-px-lua"}, Fault: true})
	got := page(t, r)
	t.Run("same again", func(t *testing.T) {
		if page(t, r) != got {
			t.Error("the same results give two pages")
		}
	})
	t.Run("offline", func(t *testing.T) {
		for _, foreign := range []string{"http:", "https:", "<script", "<link", "@import", "url(", "<iframe", "src="} {
			if strings.Contains(got, foreign) {
				t.Errorf("the page has %q", foreign)
			}
		}
	})
	t.Run("sections", func(t *testing.T) {
		last := 0
		for _, id := range []string{"comparison", "fairness", "latency", "scaling", "safety", "changes", "cost", "time", "tuned", "controls", "method", "limitations", "environment", "reproduce"} {
			at := strings.Index(got, fmt.Sprintf(` id="%s">`, id)) // the id belongs to a section heading or to a folded section
			if at < last {
				t.Errorf("section %s is missing, or not in its place", id)
			}
			last = max(last, at)
			if !strings.Contains(got, fmt.Sprintf(`<a href="#%s">`, id)) {
				t.Errorf("nothing leads to %s", id)
			}
		}
	})
	t.Run("drawings", func(t *testing.T) { checkDrawings(t, got) })
	t.Run("struck", func(t *testing.T) { checkStruck(t, r, got) })
	t.Run("fault", func(t *testing.T) {
		if !strings.Contains(got, `<rect class="fault"`) || !strings.Contains(got, "from 240 ms on, under kill-server") {
			t.Error("the fault is not in the map of latency over time")
		}
	})
}

// checkDrawings checks that each chart has a title, a description and a data table.
func checkDrawings(t *testing.T, page string) {
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("the id %s is there twice", m[1])
		}
		ids[m[1]] = true
	}
	all := regexp.MustCompile(`(?s)<svg ([^>]*)>(<title id="([^"]*)">[^<]+</title><desc id="([^"]*)">[^<]+</desc>)?`).FindAllStringSubmatch(page, -1)
	for _, m := range all {
		if m[2] == "" || !strings.Contains(m[1], `role="img"`) || !strings.Contains(m[1], fmt.Sprintf(`aria-labelledby="%s %s"`, m[3], m[4])) {
			t.Errorf("a drawing without a role, a title or a description: %s", m[1])
		}
	}
	if figures := strings.Count(page, "<figure "); len(all) < 12 || len(all) != figures || figures != strings.Count(page, "The chart as a table") {
		t.Errorf("%d drawings, %d figures", len(all), figures)
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
		t.Error("something was divided by zero")
	}
}

// checkStruck checks that a lock that violated exclusion is struck out in tables and absent from charts.
func checkStruck(t *testing.T, r *bench.Results, page string) {
	for _, svg := range regexp.MustCompile(`(?s)<svg .*?</svg>`).FindAllString(page, -1) {
		if strings.Contains(svg, ">set-px-lua</text>") || strings.Contains(svg, ">broken</text>") {
			t.Error("a lock that breaks is drawn")
		}
	}
	rows := 0
	comparison := regexp.MustCompile(`(?s)<section id="comparison">.*?</section>`).FindString(page)
	for _, row := range regexp.MustCompile(`(?s)<tr><th scope="row">set-px-lua.*?</tr>`).FindAllString(comparison, -1) {
		rows++
		plain := regexp.MustCompile(`<td>[\d\[][^<]*</td>`).FindAllString(row, -1)
		if len(plain) != 1 || !strings.Contains(row, "mutual-exclusion violated in 1 of 10 trials") {
			t.Errorf("a row of set-px-lua has %v", plain)
		}
	}
	if rows != len(r.Plan.Points) {
		t.Errorf("%d rows of set-px-lua", rows)
	}
	if n := strings.Count(page, "Not drawn, as exclusion was violated: set-px-lua (mutual-exclusion violated)"); n < 8 {
		t.Errorf("%d charts say what they leave out", n)
	}
}

// TestWithheld checks that no report shows measured values if a self-check failed.
func TestWithheld(t *testing.T) {
	for name, o := range map[string]options{
		"broken-lock": {BlindJudge: true}, "known-delay": {WrongDelay: true}, "stalled-generator": {UnseenStall: true},
		"same-lock-twice": {UnevenAgain: true}, "not carried": {NoControls: true},
	} {
		t.Run(name, func(t *testing.T) {
			o.OnlyFigures = true
			r := read(t, o)
			if len(r.Withheld) == 0 {
				t.Fatal("nothing is withheld")
			}
			for kind, got := range map[string]string{"page": body(page(t, r)), "markdown": markdown(t, r), "text": text(t, r)} {
				if !strings.Contains(got, "Figures withheld: ") || !strings.Contains(got, "same-lock-twice") {
					t.Errorf("%s: it is not said that figures are withheld, and why", kind)
				}
				for _, trace := range []string{"<svg", "<s>", "goodput /s", `class="figures`, "fastest"} {
					if strings.Contains(got, trace) {
						t.Errorf("%s: it has %q", kind, trace)
					}
				}
				for _, row := range r.Rows {
					if e := row.Estimates["goodput"]; e.Median > 100 && regexp.MustCompile(fmt.Sprintf(`(^|[^\w.])%.0f($|\W)`, e.Median)).MatchString(got) {
						t.Errorf("%s: the goodput of %s is shown", kind, row.Subject)
					}
				}
			}
		})
	}
}

// TestStarving checks how reports show a lock that starves clients: without a rank and hand-offs, and as a hollow dot.
func TestStarving(t *testing.T) {
	r := small(t, options{Blocks: 8, Starve: "fenced", OnlyFigures: true})
	if got := strings.Join(strings.Fields(text(t, r)), " "); !strings.HasPrefix(got, "set-px-lua is fastest. fenced starves clients. 4 clients: set-px-lua leads") || !strings.Contains(got, "fenced starves 3 of 4 clients") {
		t.Error(got)
	}
	got := page(t, r)
	if !strings.Contains(got, `<path class="starving"`) || !strings.Contains(got, ">fenced (starves 3/4)</text>") {
		t.Error("the overview does not mark the lock that starves clients")
	}
	cells := regexp.MustCompile(`(?s)<tr><th scope="row">fenced <small class="violated">starves clients: 3 of 4 clients got nothing</small>.*?</tr>`).FindString(got)
	if strings.Count(cells, "<td>–</td>") != 2 { // the lock must have no values in the columns rank and hand-off p50
		t.Errorf("its row is %q", cells)
	}
}

// TestUnfinished checks that the headline of an unfinished bench begins with "Unfinished" and is never green.
func TestUnfinished(t *testing.T) {
	for name, change := range map[string]func(*bench.Plan){"interrupted": func(p *bench.Plan) { p.Interrupted = true }, "no end": func(p *bench.Plan) { p.Ended = time.Time{} }} {
		r := small(t, options{Blocks: 8, OnlyFigures: true})
		change(r.Plan)
		r.Trials = r.Trials[:20]
		if got := page(t, r); !strings.Contains(got, `<h1 class="tone-unsure">Unfinished, 20 of 48 trials: fenced is fastest.</h1>`) {
			t.Errorf("%s: %s", name, regexp.MustCompile(`<h1.*</h1>`).FindString(got))
		}
	}
}

// TestTooFew checks the headline of a bench with too few trials. The headline must not report a tie.
func TestTooFew(t *testing.T) {
	few := read(t, options{Blocks: 6, OnlyFigures: true})
	few.Withheld = nil // ignore the self-check same-lock-twice, which fails because it needs more than six trials
	if got := text(t, few); !strings.HasPrefix(got, "Too few trials to rank the locks.") || !strings.Contains(got, "takes 7") {
		t.Errorf("six trials of four locks:\n%s", got)
	}
	enough := read(t, options{Blocks: 7, OnlyFigures: true})
	enough.Withheld = nil
	if got := text(t, enough); strings.Contains(got, "Too few trials") || !strings.Contains(got, "contended, 4, 16 and 64 clients: fenced leads") {
		t.Errorf("seven trials of four locks:\n%s", got)
	}
}

// TestTie checks that two locks without a significant difference share the first rank.
func TestTie(t *testing.T) {
	r := small(t, options{OnlyFigures: true, Factor: map[string]float64{"set-px-lua": 1.14}})
	names := map[string]bool{}
	for _, ranked := range r.Rankings[0].Order {
		if ranked.Rank == 1 {
			names[ranked.Subject] = true
		}
	}
	if len(names) != 2 {
		t.Fatalf("the folder has no tie: %+v", r.Rankings[0].Order)
	}
	if got := text(t, r); !strings.HasPrefix(got, "fenced and set-px-lua tie as the fastest.") {
		t.Error(got)
	}
	if got := page(t, r); !strings.Contains(got, "tie with 10 pairs of trials") {
		t.Error("the page does not say what would change the tie")
	}
}

// TestHostile checks that every report escapes names that come from files.
func TestHostile(t *testing.T) {
	const evil = `"><script>alert(1)</script>|[x](y)` + "\x1b[31m`*~"
	r := small(t, options{Blocks: 8, Unsafe: []string{"set-px-lua"}})
	rename(r, "redsync", evil)
	for i := range r.Plan.Subjects {
		r.Plan.Subjects[i].Defect, r.Plan.Subjects[i].Doc = evil, evil
	}
	for i := range r.Rows {
		r.Rows[i].Limited = evil
		if u := r.Rows[i].Unsafe; u != nil {
			u.Property, u.Text = evil, evil
		}
	}
	r.Plan.Name, r.Plan.Command, r.Plan.Notes, r.Plan.Environment.CPU = evil, evil, []string{evil}, evil
	r.Plan.Points[0].Section, r.Plan.Points[0].Fault = evil, evil
	r.Checks[0].Seen = evil
	for _, trial := range r.Trials {
		trial.Discarded = map[bool]string{true: evil}[trial.Block == 0]
		trial.Timeline.Faults = []bench.Episode{{Name: evil, ToNS: 1e8}}
	}
	got := page(t, r)
	if strings.Contains(got, "<script") || strings.Contains(got, `"><script`) {
		t.Error("a name has become an element of the page")
	}
	if n := strings.Count(got, "&lt;script&gt;alert"); n < 20 {
		t.Errorf("the name is there %d times only", n)
	}
	if md := markdown(t, r); strings.Contains(strings.ReplaceAll(md, "```\n"+format.Clean(strings.ReplaceAll(evil, "```", ""))+"\n```", ""), "<script") {
		t.Error("a name has become HTML in Markdown")
	}
	if strings.Contains(text(t, r), "\x1b") {
		t.Error("a name reaches the terminal with its control characters")
	}
}

// rename changes the name of a lock in the plan and in all trials.
func rename(r *bench.Results, from, to string) {
	for i := range r.Plan.Subjects {
		if r.Plan.Subjects[i].Name == from {
			r.Plan.Subjects[i].Name = to
		}
	}
	for i := range r.Rows {
		if r.Rows[i].Subject == from {
			r.Rows[i].Subject = to
		}
	}
	for _, k := range r.Rankings {
		for i := range k.Order {
			if k.Order[i].Subject == from {
				k.Order[i].Subject, k.Order[i].ToBest.A = to, to
			}
		}
	}
	for _, t := range r.Trials {
		if t.Subject == from {
			t.Subject = to
		}
	}
}
