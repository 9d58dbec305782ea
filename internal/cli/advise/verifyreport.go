package advise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/internal/choose/advisor"
	"lockbench/internal/choose/decision"
	"lockbench/internal/cli/console"
	"lockbench/reports/format"
	"lockbench/reports/selection"
)

// VerifyReportCommand returns the verb verify-report.
func VerifyReportCommand() *cobra.Command {
	dataOnly := false
	cmd := &cobra.Command{
		Use:   "verify-report FILE [ID...]",
		Short: "Work a selection report out again: its decision, its figures, the verdicts it rests on",
		Long: `verify-report reads a selection report (its page, its JSON, or its record beside the JSON) and works it out again. The
decision and every sentence must follow from the needs, the options and the evidence in the file; the page must be, byte for
byte, what these make; and where the folders that it points to are there, every history is looked at: that it is the one that
was summed, that it is judged as the report says, and that it has the figures that the report has.

With IDs of the report (P12, M3) it traces those: what was observed, in which histories, and what they say now.

It exits with 0 where all came out the same, 1 where something differs, and 3 where histories are not there, so that they
were not judged again (--data-only does not ask for them).`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.Usage(errors.New("verify-report needs the file of a selection report"), "lockbench verify-report runs/latest-advice/advice.html")
			}
			v, err := readReport(args[0])
			if err != nil {
				return console.Usage(err, "a selection report is what lockbench advise leaves: advice.html, advice.json or advice.md")
			}
			v.w = cmd.OutOrStdout()
			if len(args) > 1 {
				return v.trace(args[1:])
			}
			return v.all(dataOnly)
		},
	}
	cmd.Flags().BoolVar(&dataOnly, "data-only", false, "do not ask for the histories: the report must follow from the data in it")
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
	v := &verifying{file: file, found: console.Codes{}}
	var err error
	if v.text, err = os.ReadFile(file); err != nil {
		return nil, err
	}
	if strings.EqualFold(filepath.Ext(file), ".html") {
		v.report, err = selection.ReadPage(v.text)
		return v, err
	}
	data := v.text
	if strings.EqualFold(filepath.Ext(file), ".md") {
		if data, err = os.ReadFile(filepath.Join(filepath.Dir(file), selection.DataName)); err != nil {
			return nil, fmt.Errorf("a record has no data in it, and %w", err)
		}
	}
	v.report, err = selection.ReadData(data)
	return v, err
}

func (v *verifying) all(dataOnly bool) error {
	r := v.report
	again := decision.Decide(r.Needs, r.Options, r.Evidence)
	v.say("the decision and its sentences", differing("", generic(v.report), generic(again)))
	if err := v.drawn(again); err != nil {
		return err
	}
	if !dataOnly {
		v.evidence()
		v.histories()
	}
	switch {
	case v.found[console.ExitBroken]:
		fmt.Fprintln(v.w, "\nDIFFERENT: the report does not say what its evidence says.")
	case v.found[console.ExitUndecided]:
		fmt.Fprintln(v.w, "\nThe report follows from the data in it. Not all of what that was read from is here, so that it was not looked at again.")
	case dataOnly:
		fmt.Fprintln(v.w, "\nThe report follows from the data in it.")
	default:
		fmt.Fprintln(v.w, "\nEverything in the report was worked out again from its histories, and came out the same.")
	}
	return v.found.Err()
}

func (v *verifying) say(what string, differs []string) {
	const most = 10
	if len(differs) == 0 {
		fmt.Fprintf(v.w, "  ✓ %s: the same\n", what)
		return
	}
	v.found[console.ExitBroken] = true
	fmt.Fprintf(v.w, "  ✗ %s: %s\n", what, format.Plural(len(differs), "difference"))
	for _, d := range differs[:min(most, len(differs))] {
		fmt.Fprintf(v.w, "      %s\n", d)
	}
	if len(differs) > most {
		fmt.Fprintf(v.w, "      and %d more\n", len(differs)-most)
	}
}

func generic(value any) (out any) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return err.Error()
	}
	return out
}

// differing walks two values of JSON, and names the places where they part.
func differing(at string, a, b any) (list []string) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			all := maps.Clone(x)
			maps.Copy(all, y)
			for _, key := range slices.Sorted(maps.Keys(all)) {
				list = append(list, differing(at+"/"+key, x[key], y[key])...)
			}
			return list
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				list = append(list, differing(fmt.Sprintf("%s/%d", at, i), x[i], y[i])...)
			}
			return list
		}
	default:
		if a == b {
			return nil
		}
	}
	x, y := parted(a, b)
	return []string{fmt.Sprintf("%s: the file says %s, worked out it is %s", at, x, y)}
}

// parted writes two values of JSON around the place where they part.
func parted(a, b any) (string, string) {
	const before, after = 40, 80
	one, _ := json.Marshal(a) // they came from JSON
	other, _ := json.Marshal(b)
	x, y := []rune(string(one)), []rune(string(other))
	at := 0
	for at < min(len(x), len(y)) && x[at] == y[at] {
		at++
	}
	cut := func(text []rune) string {
		from, to := max(0, at-before), min(len(text), at+after)
		s := string(text[from:to])
		if from > 0 {
			s = "..." + s
		}
		if to < len(text) {
			s += "..."
		}
		return s
	}
	return cut(x), cut(y)
}

// drawn makes the forms of the report again, and holds the files to them that are there.
func (v *verifying) drawn(again *selection.Report) error {
	forms, err := selection.Forms(again)
	if err != nil {
		return err
	}
	for _, form := range []string{selection.PageName, selection.RecordName, selection.DataName} {
		text := v.text
		if filepath.Ext(form) != strings.ToLower(filepath.Ext(v.file)) {
			if text, err = os.ReadFile(filepath.Join(filepath.Dir(v.file), form)); err != nil {
				continue // one form is enough
			}
		}
		var differs []string
		if !bytes.Equal(text, forms[form]) {
			differs = []string{fmt.Sprintf("it is not what the report makes: line %d is the first that differs", firstLine(text, forms[form]))}
		}
		v.say(form+", made again", differs)
	}
	return nil
}

// firstLine returns the number of the first line in which two texts differ.
func firstLine(a, b []byte) int {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	n := 0
	for n < min(len(x), len(y)) && bytes.Equal(x[n], y[n]) {
		n++
	}
	return n + 1
}

func (v *verifying) evidence() {
	base := filepath.Dir(v.file)
	var dirs []string
	for _, s := range v.report.Sources {
		dir := filepath.Join(base, filepath.FromSlash(s.Dir))
		if _, err := os.Stat(dir); err != nil {
			v.found[console.ExitUndecided] = true
			fmt.Fprintf(v.w, "  ? %s: the folder of %s is not here\n", s.ID, s.Dir)
			continue
		}
		dirs = append(dirs, dir)
	}
	if len(dirs) < len(v.report.Sources) || len(dirs) == 0 {
		return
	}
	e, err := decision.ReadEvidence(base, v.report.Options, dirs...)
	if err != nil {
		v.say("what was read from the folders", []string{format.Scrub(err.Error())})
		return
	}
	again := decision.Decide(v.report.Needs, v.report.Options, decision.Trim(v.report.Needs, v.report.Options, e))
	v.say("what was read from the folders", differing("", generic(v.report.Evidence), generic(again.Evidence)))
}

func (v *verifying) histories() {
	observed := len(v.report.Findings) + len(v.report.Figures) + len(v.report.Stood) + len(v.report.Times)
	if observed == 0 {
		return
	}
	files := map[string]bool{}
	var differs []string
	absent, same := 0, 0
	for _, c := range advisor.Verify(filepath.Dir(v.file), v.report) {
		for _, f := range c.Files {
			files[f] = true
		}
		for _, d := range c.Differs {
			differs = append(differs, c.ID+": "+d)
		}
		switch {
		case c.Absent:
			absent++
		case len(c.Differs) == 0:
			same++
		}
	}
	if absent > 0 {
		v.found[console.ExitUndecided] = true
		fmt.Fprintf(v.w, "  ? %d of %d findings and figures: their histories are not here\n", absent, observed)
	}
	if same+len(differs) > 0 {
		v.say(fmt.Sprintf("%s, judged and measured again for %d findings and figures", format.Plural(len(files), "history file"), same), differs)
	}
}

func (v *verifying) trace(ids []string) error {
	for _, id := range ids {
		if !v.describe(id) {
			return console.Usage(fmt.Errorf("%s has no %q", v.file, id), "ids are such as P12 for what was observed of a property, and M3 for a figure")
		}
		for _, c := range advisor.Verify(filepath.Dir(v.file), v.report, id) {
			v.traced(c)
		}
	}
	return v.found.Err()
}

// describe prints what an id stands for, and reports whether there is one.
func (v *verifying) describe(id string) bool {
	r := v.report
	for _, f := range r.Findings {
		if f.ID == id {
			return v.print(id, f.Source, f.Dir, "%s of %s in %s under %s: %s in %s, %d violations, %d operations", f.Property, f.Lock, f.Workload, f.Fault, f.Observed,
				format.Plural(f.Trials, "trial"), f.Violations, f.Operations)
		}
	}
	for _, f := range r.Figures {
		if f.ID == id {
			return v.print(id, f.Source, f.Dir, "%s of %s: median %.4g %s of %s", f.Metric, f.Lock, f.Estimate.Median, f.Unit, format.Plural(f.Estimate.N, "trial"))
		}
	}
	for _, s := range r.Stood {
		if s.ID == id {
			return v.print(id, s.Source, s.Dir, "processes of %s that stood still in their holds, with a lease of %s: %d of %d holds were doubled",
				s.Lock, format.Setting(s.TTLNS), s.Doubled, s.Holds)
		}
	}
	for _, t := range r.Times {
		if t.ID == id {
			return v.print(id, t.Source, "", "%s of %s: %d recorded, %s", t.What, t.Lock, t.N, t.Where)
		}
	}
	return false
}

// print prints what was observed, and in which folder.
func (v *verifying) print(id, source, dir, what string, about ...any) bool {
	fmt.Fprintf(v.w, id+"  "+what+"\n", about...)
	for _, s := range v.report.Sources {
		if s.ID == source {
			fmt.Fprintf(v.w, "  from the %s in %s, %s, of %s; made by: %s\n", s.Kind, s.Dir, dir, s.Started, s.Command)
		}
	}
	return true
}

func (v *verifying) traced(c advisor.Checked) {
	for _, f := range c.Files {
		fmt.Fprintf(v.w, "  %s\n", f)
	}
	if c.Absent && len(c.Differs) == 0 {
		v.found[console.ExitUndecided] = true
		fmt.Fprintln(v.w, "  ? its histories are not here")
		return
	}
	v.say("judged and measured again", c.Differs)
}
