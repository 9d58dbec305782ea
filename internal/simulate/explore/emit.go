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

// EmitTest writes a Go test that runs the case of f in virtual time. The test passes if the case still violates
// f.Property. It belongs to package explored_test of this module.
func EmitTest(w io.Writer, f File) error {
	text, err := f.Encode()
	if err != nil {
		return err
	}
	name := camel(f.Lock) + camel(f.Property) + camel(f.faultKinds())
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

// faultKinds returns the kinds of fault actions in the plan, without duplicates and joined by hyphens, such as
// stall-pause. For a plan without faults, it returns "nothing".
func (c Case) faultKinds() string {
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

// HistoryName returns a file name for the history of r. The name states the violated and undecided properties, the lock,
// and the kinds of faults. Properties that Run.Violated omits are included, because a reader of the file does not know
// the fault plan.
func HistoryName(r *Run) string {
	var parts []string
	for _, o := range []checker.Observed{checker.Violated, checker.Undecided} {
		if names := r.observed(o); names != nil {
			parts = append(parts, map[checker.Observed]string{checker.Violated: "violates-", checker.Undecided: "undecided-"}[o]+strings.Join(names, "+"))
		}
	}
	return cmp.Or(strings.Join(parts, "_"), "holds") + "--" + r.Lock + "-under-" + r.faultKinds() + ".jsonl"
}

// Rejudge encodes the recorded history, decodes it, and returns the verdict on the result. Unlike r.Verdict, this
// verdict includes the check by package oracle.
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

// EmitHistory writes the recorded history as JSON lines. Judging the written file gives the same verdict as
// r.Verdict.
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
