package explore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"io"
	"slices"
	"strings"
	"text/template"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/histories"
)

// testFile is the template of a Go test file that contains a case.
var testFile = template.Must(template.New("test").Parse(`package explored_test

import (
	"runtime"
	"slices"
	"testing"

	"lockbench/internal/simulate/explore"
)

// {{.Name}} runs a trial in virtual time in which {{.Lock}} violates {{.Property}}.{{with .Found}}
// {{.}}{{end}}
//
// It fails if the property is no longer violated.
func {{.Name}}(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a trial is reproducible on one processor only
	f, err := explore.Decode([]byte({{.Const}}))
	if err != nil {
		t.Fatal(err)
	}
	run, err := f.Run()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(run.Violated(), f.Property) {
		t.Errorf("%s is not violated, but %q", f.Property, run.Violated())
	}
}

const {{.Const}} = ` + "`{{.Text}}`\n"))

// EmitTest writes a case as a Go test file of this module, in a package explored_test. The test passes if the case still
// violates its property in virtual time.
func EmitTest(w io.Writer, f File) error {
	text, err := f.Encode()
	if err != nil {
		return err
	}
	name := camel(f.Lock) + camel(f.Property) + camel(f.how()) // the same case always has the same name
	var source bytes.Buffer
	err = testFile.Execute(&source, map[string]string{"Name": "Test" + name, "Const": "case" + name, "Lock": f.Lock, "Property": f.Property,
		"Found": strings.Join(strings.Fields(f.Found), " "), "Text": strings.ReplaceAll(string(text), "`", `\u0060`)})
	if err != nil {
		return err
	}
	formatted, err := format.Source(source.Bytes())
	if err != nil {
		return fmt.Errorf("format the test of the case: %w", err)
	}
	_, err = w.Write(formatted)
	return err
}

// how returns the distinct verbs of the plan, joined by hyphens, such as stall-pause.
func (c Case) how() string {
	var verbs []string
	for _, s := range c.Plan.Steps {
		if verb := strings.ReplaceAll(string(s.Do.Verb), " ", "-"); !slices.Contains(verbs, verb) {
			verbs = append(verbs, verb)
		}
	}
	return cmp.Or(strings.Join(verbs, "-"), "nothing")
}

func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "-") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// HistoryName returns the file name of a run's history in histories/corpus. It consists of the verdict and the case. The
// name includes violated properties that Violated leaves out, because the file is judged without the plan.
func HistoryName(r *Run) string {
	var parts []string
	for _, o := range []checker.Observed{checker.Violated, checker.Undecided} {
		if names := r.observed(o); names != nil {
			parts = append(parts, map[checker.Observed]string{checker.Violated: "violates-", checker.Undecided: "undecided-"}[o]+strings.Join(names, "+"))
		}
	}
	return cmp.Or(strings.Join(parts, "_"), "holds") + "--" + r.Lock + "-under-" + r.how() + ".jsonl"
}

// Rejudge writes the recorded history in the file format, reads it back, and judges it, with the oracle.
func (r *Run) Rejudge() (*checker.Verdict, error) {
	var file bytes.Buffer
	if err := EmitHistory(&file, r); err != nil {
		return nil, err
	}
	lines, err := histories.NewReader(&file)
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	return judge.History(lines.Header, lines.Next, judge.Options{})
}

// EmitHistory writes the recorded history as JSON lines. If the output is judged, the verdict is that of the run.
func EmitHistory(w io.Writer, r *Run) error {
	if r.Verdict == nil {
		return errors.New("write the history: the run was not judged")
	}
	text, err := json.Marshal(r.Header)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	for i := range r.Ops {
		text = append(histories.AppendOp(text, &r.Ops[i]), '\n')
	}
	text = fmt.Appendf(text, "{\"mark\":%d}\n", r.Verdict.Until.Nanoseconds())
	_, err = w.Write(text)
	return err
}
