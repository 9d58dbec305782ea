package advise

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"lockbench/internal/choose/advisor"
	"lockbench/internal/choose/decision"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/reports/format"
	"lockbench/reports/selection"
)

// VerifyReportCommand returns the command verify-report.
func VerifyReportCommand() *cobra.Command {
	dataOnly := false
	cmd := &cobra.Command{
		Use:   "verify-report FILE [ID...]",
		Short: "Verify a selection report, its figures and its verdicts",
		Long: `verify-report reads a selection report (its page, JSON or decision record) and derives it again.
The decision and every sentence must follow from the needs, the candidates and the evidence in the
file, and the page must be the same byte for byte. If the evidence folders are available, the
checksum, the verdicts and the figures of each history are checked too.

IDs in the report, such as P12 or M3, trace single statements to their histories.

  lockbench verify-report runs/latest-advice/advice.html
  lockbench verify-report runs/latest-advice/advice.html P12

Exit codes: 0 everything is the same; 1 something differs; 2 wrong usage; 3 histories are missing
and were not judged again (not with --data-only).`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.Usage(errors.New("verify-report needs the file of a selection report"), "lockbench verify-report runs/latest-advice/advice.html")
			}
			v, err := readReport(args[0])
			if err != nil {
				const hint = "lockbench advise writes advice.html, advice.json and advice.md"
				if info, e := os.Stat(args[0]); e != nil || info.IsDir() {
					return choice.Misplaced(args[0], "the file of a selection report", err, hint)
				}
				return console.Usage(err, hint)
			}
			v.w = console.Cleaned(cmd.OutOrStdout())
			if len(args) > 1 {
				return v.trace(args[1:])
			}
			return v.all(dataOnly)
		},
	}
	cmd.Flags().BoolVar(&dataOnly, "data-only", false, "do not require the histories")
	return cmd
}

type verifying struct {
	w      io.Writer
	file   string
	text   []byte
	report *selection.Report
	found  console.Codes
}

func readReport(file string) (*verifying, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	v := &verifying{file: file, text: text, found: console.Codes{}}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".html":
		v.report, err = selection.ReadPage(text)
		return v, err
	case ".md":
		if text, err = os.ReadFile(filepath.Join(filepath.Dir(file), selection.DataName)); err != nil {
			return nil, fmt.Errorf("a record has no data in it, and %w", err)
		}
	}
	v.report, err = selection.ReadData(text)
	return v, err
}

func (v *verifying) all(dataOnly bool) error {
	r := v.report
	again := decision.Decide(r.Needs, r.Options, r.Evidence)
	v.say("the decision and its sentences", differing("", v.report, again))
	if err := v.drawn(again); err != nil {
		return err
	}
	if !dataOnly {
		v.evidence()
		v.histories()
	}
	switch {
	case v.found[console.ExitFail]:
		fmt.Fprintln(v.w, "\nDIFFERENT: the report does not follow from its evidence.")
	case v.found[console.ExitInconclusive]:
		fmt.Fprintln(v.w, "\nThe report follows from its data. Some of its folders or histories are missing and were not checked.")
	case dataOnly:
		fmt.Fprintln(v.w, "\nThe report follows from its data.")
	default:
		fmt.Fprintln(v.w, "\nEverything in the report was derived again from its histories, and is the same.")
	}
	return v.found.Err()
}

func (v *verifying) say(what string, differs []string) {
	const most = 10
	if len(differs) == 0 {
		fmt.Fprintf(v.w, "  ✓ %s: the same\n", what)
		return
	}
	v.found[console.ExitFail] = true
	fmt.Fprintf(v.w, "  ✗ %s: %s\n", what, format.Plural(len(differs), "difference"))
	for _, d := range differs[:min(most, len(differs))] {
		fmt.Fprintf(v.w, "      %s\n", d)
	}
	if len(differs) > most {
		fmt.Fprintf(v.w, "      and %d more\n", len(differs)-most)
	}
}

// differing returns the JSON paths at which two values differ, each with both values.
func differing(at string, a, b any) (list []string) {
	one, err1 := json.Marshal(a)
	other, err2 := json.Marshal(b)
	var x, y any
	if err := cmp.Or(err1, err2, json.Unmarshal(one, &x), json.Unmarshal(other, &y)); err != nil {
		return []string{err.Error()}
	}
	return parting(at, x, y)
}

func parting(at string, a, b any) (list []string) {
	x, isMap := a.(map[string]any)
	y, both := b.(map[string]any)
	if isMap && both {
		for _, key := range slices.Sorted(maps.Keys(lo.Assign(x, y))) {
			list = append(list, parting(at+"/"+key, x[key], y[key])...)
		}
		return list
	}
	these, isList := a.([]any)
	those, both := b.([]any)
	if isList && both && len(these) == len(those) {
		return lo.FlatMap(these, func(one any, i int) []string { return parting(fmt.Sprintf("%s/%d", at, i), one, those[i]) })
	}
	one, _ := json.Marshal(a) // no error: the value was decoded from JSON
	other, _ := json.Marshal(b)
	if bytes.Equal(one, other) {
		return nil
	}
	same := common(one, other)
	around := func(text []byte) string {
		begin, end := max(0, same-40), min(len(text), same+80)
		return lo.Ternary(begin > 0, "...", "") + strings.ToValidUTF8(string(text[begin:end]), "") + lo.Ternary(end < len(text), "...", "")
	}
	return []string{fmt.Sprintf("%s: the file says %s, derived again it is %s", at, around(one), around(other))}
}

// drawn renders the report again and compares the result with the report files. It prints the first difference of each
// file.
func (v *verifying) drawn(again *selection.Report) error {
	forms, err := selection.Forms(again)
	if err != nil {
		return err
	}
	for _, form := range []string{selection.PageName, selection.RecordName, selection.DataName} {
		text := v.text
		if filepath.Ext(form) != strings.ToLower(filepath.Ext(v.file)) {
			if text, err = os.ReadFile(filepath.Join(filepath.Dir(v.file), form)); err != nil {
				continue // this report has no file in this format
			}
		}
		var differs []string
		if made := forms[form]; !bytes.Equal(text, made) {
			line := bytes.Count(text[:common(text, made)], []byte("\n")) + 1
			differs = []string{fmt.Sprintf("line %d is the first that differs", line)}
		}
		v.say(form+", rendered again", differs)
	}
	return nil
}

// common returns the length of the common prefix of two texts.
func common(a, b []byte) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func (v *verifying) evidence() {
	base := filepath.Dir(v.file)
	var dirs []string
	for _, s := range v.report.Sources {
		dir := filepath.Join(base, filepath.FromSlash(s.Dir))
		if _, err := os.Stat(dir); err != nil {
			v.found[console.ExitInconclusive] = true
			fmt.Fprintf(v.w, "  ? %s: the folder %s is missing\n", s.ID, s.Dir)
			continue
		}
		dirs = append(dirs, dir)
	}
	if len(dirs) < len(v.report.Sources) || len(dirs) == 0 {
		return
	}
	e, err := decision.ReadEvidence(base, v.report.Options, dirs...)
	if err != nil {
		v.say("the evidence in the folders", []string{format.Scrub(err.Error())})
		return
	}
	again := decision.Decide(v.report.Needs, v.report.Options, decision.Trim(v.report.Needs, v.report.Options, e))
	v.say("the evidence in the folders", differing("", v.report.Evidence, again.Evidence))
}

func (v *verifying) histories() {
	all := advisor.Verify(filepath.Dir(v.file), v.report)
	files := lo.Uniq(lo.FlatMap(all, func(c advisor.Checked, _ int) []string { return c.Files }))
	differs := lo.FlatMap(all, func(c advisor.Checked, _ int) []string {
		return lo.Map(c.Differs, func(d string, _ int) string { return c.ID + ": " + d })
	})
	same := lo.CountBy(all, func(c advisor.Checked) bool { return !c.Absent && len(c.Differs) == 0 })
	if absent := lo.CountBy(all, func(c advisor.Checked) bool { return c.Absent }); absent > 0 {
		v.found[console.ExitInconclusive] = true
		fmt.Fprintf(v.w, "  ? %d of %d findings and figures: their histories are missing\n", absent, len(all))
	}
	if same+len(differs) > 0 {
		v.say(fmt.Sprintf("%s, judged and measured again for %d findings and figures", format.Plural(len(files), "history file"), same), differs)
	}
}

func (v *verifying) trace(ids []string) error {
	for _, id := range ids {
		if !v.describe(id) {
			return console.Usage(fmt.Errorf("%s has no %q", v.file, id), "the ids stand in the report, such as P12 for a property and M3 for a figure")
		}
		for _, c := range advisor.Verify(filepath.Dir(v.file), v.report, id) {
			v.traced(c)
		}
	}
	return v.found.Err()
}

// describe prints the finding or figure with the given id, and reports whether the id exists.
func (v *verifying) describe(id string) bool {
	r := v.report
	if f, ok := lo.Find(r.Findings, func(f selection.Finding) bool { return f.ID == id }); ok {
		return v.print(id, f.Source, f.Dir, "%s of %s in %s under %s: %s in %s, %d violations, %d operations", f.Property, f.Lock, f.Workload, f.Fault, f.Observed,
			format.Plural(f.Trials, "trial"), f.Violations, f.Operations)
	}
	if f, ok := lo.Find(r.Figures, func(f selection.Figure) bool { return f.ID == id }); ok {
		return v.print(id, f.Source, f.Dir, "%s of %s: median %.4g %s of %s", f.Metric, f.Lock, f.Estimate.Median, f.Unit, format.Plural(f.Estimate.N, "trial"))
	}
	if s, ok := lo.Find(r.Paused, func(s selection.PausedHolds) bool { return s.ID == id }); ok {
		return v.print(id, s.Source, s.Dir, "paused holders of %s with a lease of %s: another client was granted the lock in %d of %d holds",
			s.Lock, format.Setting(s.TTLNS), s.Overlapped, s.Holds)
	}
	t, ok := lo.Find(r.Times, func(t selection.RecordedTime) bool { return t.ID == id })
	return ok && v.print(id, t.Source, "", "%s of %s: %d recorded, %s", t.What, t.Lock, t.N, t.Where)
}

func (v *verifying) print(id, source, dir, what string, about ...any) bool {
	fmt.Fprintf(v.w, id+"  "+what+"\n", about...)
	if s, known := lo.Find(v.report.Sources, func(s selection.Source) bool { return s.ID == source }); known {
		fmt.Fprintf(v.w, "  from the %s in %s, %s, of %s; made by: %s\n", s.Kind, s.Dir, dir, s.Started, s.Command)
	}
	return true
}

func (v *verifying) traced(c advisor.Checked) {
	for _, f := range c.Files {
		fmt.Fprintf(v.w, "  %s\n", f)
	}
	if c.Absent && len(c.Differs) == 0 {
		v.found[console.ExitInconclusive] = true
		fmt.Fprintln(v.w, "  ? its histories are missing")
		return
	}
	v.say("judged and measured again", c.Differs)
}
