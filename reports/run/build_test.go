package run

import (
	"bytes"
	"errors"
	"flag"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockbench/checker"
	"lockbench/histories"
)

// Command-line flags of the tests.
var (
	update = flag.Bool("update", false, "write the golden files anew")
	keep   = flag.String("keep", "", "write the sample run and its report to this folder")
)

func buildSample(t *testing.T) (string, *Results) {
	t.Helper()
	dir := t.TempDir()
	if *keep != "" {
		dir = *keep
	}
	writeSample(t, dir)
	r, err := Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

// TestSample builds the report of the sample run once and runs all checks on the report.
func TestSample(t *testing.T) {
	dir, r := buildSample(t)
	for name, check := range map[string]func(t *testing.T, dir string, r *Results){
		"golden":             checkGolden,
		"built again":        checkSameFolderSamePage,
		"offline":            checkPageIsOffline,
		"words":              checkWords,
		"hangs together":     checkPageHangsTogether,
		"colour":             checkTextColorOnlyAdds,
		"viewers":            checkViewers,
		"no temporary files": checkBuildLeavesNoTemporaryFiles,
		"schema fits":        checkResultsFitTheSchema,
		"schema refuses":     checkSchemaRefuses,
		"interval log":       checkIntervalLogReadsBack,
	} {
		t.Run(name, func(t *testing.T) { check(t, dir, r) })
	}
}

func read(t *testing.T, parts ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		put(t, file, got)
	}
	if diff := cmp.Diff(string(read(t, file)), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", name, diff)
	}
}

func checkGolden(t *testing.T, dir string, r *Results) {
	var brief, verbose bytes.Buffer
	if err := errors.Join(r.Text(&brief, false, false), r.Text(&verbose, false, true)); err != nil {
		t.Fatal(err)
	}
	golden(t, "overview.txt", brief.Bytes())
	golden(t, "table.txt", verbose.Bytes())
	golden(t, "report.md", read(t, dir, "report", "report.md"))
}

// checkSameFolderSamePage checks that building a report again gives identical files, also in a copy of the folder.
func checkSameFolderSamePage(t *testing.T, dir string, r *Results) {
	names := []string{"results.json", "report/index.html", "report/report.md", "set-px/counter+none/latency.hlog", "set-px/counter+none/latency.hgrm"}
	viewers, _ := filepath.Glob(filepath.Join(dir, "report", "example-*.html"))
	for _, file := range viewers {
		names = append(names, "report/"+filepath.Base(file))
	}
	var before [][]byte
	for _, name := range names {
		before = append(before, read(t, dir, name))
	}
	if _, err := Build(dir); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(moved, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(moved); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if !bytes.Equal(before[i], read(t, dir, name)) {
			t.Errorf("%s differs when it is built again", name)
		}
		if !bytes.Equal(before[i], read(t, moved, name)) {
			t.Errorf("%s differs in another place", name)
		}
	}
}

// checkPageIsOffline checks that a browser would fetch nothing to show the page.
func checkPageIsOffline(t *testing.T, dir string, r *Results) {
	page := string(read(t, dir, "report", "index.html"))
	rest := strings.ReplaceAll(page, "http://www.w3.org/", "")
	for _, bad := range []string{"http://", "https://", "<script", "<link", "<img", "@import", "@font-face", "src=", "url(\"", "url(//"} {
		if strings.Contains(rest, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, m := range regexp.MustCompile(`url\(([^)]*)\)`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "#") {
			t.Errorf("the page refers to %s", m[0])
		}
	}
	if strings.Contains(page, dir) {
		t.Error("the page has the path of the run folder")
	}
}

// checkWords checks that the reports use no word that the glossary forbids.
func checkWords(t *testing.T, dir string, r *Results) {
	tag := regexp.MustCompile(`<style>(?s:.*?)</style>|<[^>]*>`)
	for _, name := range []string{"index.html", "report.md"} {
		text := tag.ReplaceAllString(string(read(t, dir, "report", name)), " ")
		if bad := regexp.MustCompile(`(?i).{0,30}\b(inside|witness|caught|kept|claims?|floor|knocked|nobody|whoever)\b.{0,30}`).FindString(text); bad != "" {
			t.Errorf("%s says %q", name, bad)
		}
	}
}

// checkPageHangsTogether checks that all links have targets, and that ids are unique.
func checkPageHangsTogether(t *testing.T, dir string, r *Results) {
	page := string(read(t, dir, "report", "index.html"))
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("the id %s is not unique", m[1])
		}
		ids[m[1]] = true
	}
	links := regexp.MustCompile(`(?:href="|url\()(#?)([^")]*)`).FindAllStringSubmatch(page, -1)
	if len(links) < 30 {
		t.Errorf("only %d links", len(links))
	}
	for _, m := range links {
		if m[1] == "#" {
			if !ids[m[2]] {
				t.Errorf("a link to #%s, which does not exist", m[2])
			}
		} else if _, err := os.Stat(filepath.Join(dir, "report", html.UnescapeString(m[2]))); err != nil {
			t.Errorf("a link to a missing file: %v", err)
		}
	}
	for _, svg := range regexp.MustCompile(`<svg[^>]*>`).FindAllString(page, -1) {
		if !strings.Contains(svg, `role="img"`) || !strings.Contains(svg, "aria-labelledby=") {
			t.Errorf("a drawing without a role or a name: %s", svg)
		}
	}
	if own := regexp.MustCompile(`style="[^"]*(#|font-family)[^"]*"`).FindString(page); own != "" {
		t.Errorf("a chart has colours or fonts that do not follow the page: %s", own)
	}
}

// checkViewers checks that each violation example of exclusion has a page of the Porcupine viewer. Other examples must
// have no viewer page, and viewer pages of an older report must be removed.
func checkViewers(t *testing.T, dir string, r *Results) {
	put(t, filepath.Join(dir, "report", "example-999.html"), nil)
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	page := string(read(t, dir, "report", "index.html"))
	files, _ := filepath.Glob(filepath.Join(dir, "report", "example-*.html"))
	links := regexp.MustCompile(`href="(example-\d+\.html)"`).FindAllStringSubmatch(page, -1)
	want := 0
	for _, o := range r.Cells {
		if o.shown != nil && strings.HasSuffix(o.Property, "-exclusion") {
			want++
		}
	}
	if want == 0 || len(links) != want || len(files) != want {
		t.Errorf("%d examples of exclusion, %d links, files %v", want, len(links), files)
	}
	for _, l := range links {
		if !bytes.Contains(read(t, dir, "report", l[1]), []byte("<title>Porcupine</title>")) {
			t.Errorf("%s is not Porcupine's page", l[1])
		}
	}
}

// TestNamesAreEscaped checks that the page escapes markup and hidden characters in all untrusted texts.
func TestNamesAreEscaped(t *testing.T) {
	const evil = `<script>alert("|x|")</script>` + "\x1b[31m\u202e\u200b"
	dir := t.TempDir()
	witness := doubleGrant()
	witness.Sentence, witness.Ops[0].Error, witness.Ops[0].Key = evil, evil, evil
	finding := checker.Finding{Property: evil, Observed: checker.Violated, Why: evil, Evidence: evil, Witness: witness}
	writeTrial(t, filepath.Join(dir, "x", "w+none", "001"), trialFiles{
		header: histories.Header{Lock: evil, Clients: 4, Expectations: []histories.Expectation{{Property: evil, Expected: histories.ToHold, Because: evil}}},
		ops:    drive(driven{clients: 4, sections: 400, trip: ms, hold: ms, exclusive: true}),
		verdict: &checker.Verdict{
			Warnings: []string{evil + "\x1b[31m"}, Findings: []checker.Finding{finding},
			Oracle: checker.Oracle{Disagreements: []string{evil}},
		},
	})
	writeTrial(t, filepath.Join(dir, "x", "w+none", "002"), trialFiles{discarded: evil})
	m := Manifest{
		Name: evil, Command: evil + "```", Servers: evil, Notes: []string{evil}, Warnings: []string{evil},
		Locks: []LockDoc{{evil, evil, evil, true}}, Parameters: []Parameter{{evil, evil, evil}},
		Plan: []Cell{{Dir: "x/w+none", Lock: evil, Deployment: evil, Workload: evil, Fault: "none"}},
	}
	m.Environment.Server, m.Environment.CPU = evil, evil
	if err := WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	r, err := Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	if page := string(read(t, dir, "report", "index.html")); strings.Contains(page, "<script") {
		t.Errorf("the page has a script: %s", page[max(0, strings.Index(page, "<script")-200):][:300])
	}
	md := string(read(t, dir, "report", "report.md"))
	fenced := md[strings.Index(md, "```\n"):]
	if strings.Contains(strings.TrimSuffix(md, fenced), "<script") || strings.Contains(strings.ReplaceAll(md, `\|`, ""), "|x") && !strings.Contains(fenced, "|x") {
		t.Error("report.md has unescaped text")
	}
	if strings.Count(fenced, "```") != 2 {
		t.Error("the command breaks out of its block")
	}
	var b bytes.Buffer
	if err := r.Text(&b, false, true); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"the page": string(read(t, dir, "report", "index.html")), "report.md": md, "the table": b.String()} {
		if strings.ContainsAny(text, "\x1b\u202e\u200b") {
			t.Errorf("%s passes hidden characters on", name)
		}
	}
}

func checkTextColorOnlyAdds(t *testing.T, dir string, r *Results) {
	var plain, colored bytes.Buffer
	if err := errors.Join(r.Text(&plain, false, true), r.Text(&colored, true, true)); err != nil {
		t.Fatal(err)
	}
	stripped := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(colored.String(), "")
	if stripped == colored.String() {
		t.Error("there is no colour")
	}
	if diff := cmp.Diff(trimLines(plain.String()), trimLines(stripped)); diff != "" {
		t.Errorf("colour changes the text:\n%s", diff)
	}
}

func trimLines(s string) string {
	return regexp.MustCompile(`(?m) +$`).ReplaceAllString(s, "")
}

func TestBuildOfARunCutShort(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(t *testing.T, trial string)
		reason string
	}{
		"no verdict":    {func(t *testing.T, trial string) { remove(t, trial, VerdictName) }, "no verdict: the run ended here"},
		"torn verdict":  {func(t *testing.T, trial string) { put(t, filepath.Join(trial, VerdictName), []byte(`{"unt`)) }, "read the verdict: unexpected end of JSON input"},
		"no history":    {func(t *testing.T, trial string) { remove(t, trial, HistoryName) }, "no history"},
		"empty history": {func(t *testing.T, trial string) { put(t, filepath.Join(trial, HistoryName), nil) }, "read the history: history.jsonl.zst: line 1"},
		"broken history": {func(t *testing.T, trial string) {
			put(t, filepath.Join(trial, HistoryName), []byte("{\"lockbench\":1}\n{\"client\":1}\n{\"client\":1}\n"))
		}, "read the history: line 2"},
		"an empty folder": {func(t *testing.T, trial string) { remove(t, trial, HistoryName); remove(t, trial, VerdictName) }, "no verdict"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			trial := oneTrial(t, dir, trialFiles{verdict: &checker.Verdict{}})
			c.spoil(t, trial)
			r, err := Build(dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Gaps) != 2 || !strings.HasPrefix(r.Gaps[0].Reason, c.reason) || r.Gaps[0].Dir != "l/w+none/001" {
				t.Errorf("gaps %+v, want %q", r.Gaps, c.reason)
			}
			if len(r.Cells)+len(r.Measurements) != 0 || r.Tally.Trials != 0 {
				t.Errorf("%d observations, %d measurements, %d trials of nothing", len(r.Cells), len(r.Measurements), r.Tally.Trials)
			}
		})
	}
}

func oneTrial(t *testing.T, dir string, f trialFiles) (trial string) {
	t.Helper()
	trial = filepath.Join(dir, "l", "w+none", "001")
	writeTrial(t, trial, f)
	if err := WriteManifest(dir, Manifest{Name: "one", Plan: []Cell{{Dir: "l/w+none", Lock: "l", Workload: "w", Fault: "none"}}}); err != nil {
		t.Fatal(err)
	}
	return trial
}

func remove(t *testing.T, parts ...string) {
	t.Helper()
	if err := os.Remove(filepath.Join(parts...)); err != nil {
		t.Fatal(err)
	}
}

func TestTornHistoryIsCountedWithAWarning(t *testing.T) {
	dir := t.TempDir()
	oneTrial(t, dir, trialFiles{verdict: &checker.Verdict{}, torn: true, ops: drive(driven{clients: 1, sections: 3, trip: ms, hold: ms})})
	r, err := Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Measurements) != 1 || r.Measurements[0].Sections != 3 {
		t.Errorf("measurements %+v, want one of 3 sections", r.Measurements)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "l/w+none/001: the file ends within line") }) {
		t.Errorf("warnings %q do not mention the torn line", r.Warnings)
	}
}

func checkBuildLeavesNoTemporaryFiles(t *testing.T, dir string, r *Results) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if strings.HasPrefix(d.Name(), ".") {
			t.Errorf("%s was left behind", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBuildNeedsAManifest(t *testing.T) {
	if _, err := Build(t.TempDir()); err == nil || !strings.Contains(err.Error(), "manifest of the run") {
		t.Errorf("got %v", err)
	}
}

// TestEarlierDiscarded checks a trial that an earlier version of lockbench discarded. The trial must still count as
// discarded.
func TestEarlierDiscarded(t *testing.T) {
	dir := t.TempDir()
	trial := filepath.Join(dir, "x", "w+none", "001")
	writeTrial(t, trial, trialFiles{discarded: "the fault had no effect"})
	if err := os.Rename(filepath.Join(trial, DiscardedName), filepath.Join(trial, "void.json")); err != nil {
		t.Fatal(err)
	}
	if err := WriteManifest(dir, Manifest{Name: "early", Plan: []Cell{{Dir: "x/w+none", Lock: "x", Workload: "w", Fault: "none"}}}); err != nil {
		t.Fatal(err)
	}
	r, err := Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Trials[0]; got.State != Discarded || got.Reason != "the fault had no effect" {
		t.Errorf("%s: %s", got.State, got.Reason)
	}
}
