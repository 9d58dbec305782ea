package run

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"lockbench/histories"
	"lockbench/impls/worker"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/strictjson"
)

const hintClaims = "docs/claims.schema.json has the shape of a file of claims, and examples/ci one"

// claims are what a library says of its lock; docs/claims.schema.json has their shape.
type claims struct {
	Schema  string            `json:"$schema"`
	Version int               `json:"lockbench_claims"`
	Lock    string            `json:"lock"`
	Claims  []worker.Expect   `json:"claims"`
	Params  map[string]string `json:"params"` // handed to the worker
}

// claimsReader finds what is wrong in a file of claims.
type claimsReader struct {
	file string
	text *strictjson.Text
}

// readClaims reads a file of claims whole. An error names the line and the column.
func readClaims(file string) (claims, error) {
	var c claims
	text, err := os.ReadFile(file)
	if err != nil {
		return c, console.Usage(err, hintClaims)
	}
	r := claimsReader{file: file}
	if r.text, err = strictjson.Decode(text, &c); err != nil {
		return c, r.placed(err.(*strictjson.Error))
	}
	return c, r.check(&c)
}

// placed is a mistake with the file that it is in.
func (r claimsReader) placed(e *strictjson.Error) error {
	if e.Field != "" {
		return r.suggested(e, console.Unknown("field", e.Field, e.Known))
	}
	return console.Usage(fmt.Errorf("%s:%w", r.file, e), hintClaims)
}

// suggested has the place of a mistake in an error that suggests names.
func (r claimsReader) suggested(at *strictjson.Error, err error) error {
	var e *console.Exit
	if errors.As(err, &e) {
		e.Err = fmt.Errorf("%s:%d:%d: %w", r.file, at.Line, at.Column, e.Err)
	}
	return err
}

func (r claimsReader) wrong(path, format string, args ...any) error {
	return r.placed(r.text.Wrong(path, format, args...))
}

// check holds the names to the tables, and fills in what was left out.
func (r claimsReader) check(c *claims) error {
	switch {
	case c.Version != 1:
		return r.wrong("lockbench_claims", `version %d of the format is not known: want "lockbench_claims":1`, c.Version)
	case c.Lock == "":
		return r.wrong("lock", `the file names no lock: want "lock":"...", as its worker calls itself`)
	case len(c.Claims) == 0:
		return r.wrong("claims", "nothing is claimed")
	}
	seen := map[worker.Expect]bool{}
	for i := range c.Claims {
		if err := r.checkOne(&c.Claims[i], fmt.Sprintf("claims[%d]", i)); err != nil {
			return err
		}
		same := c.Claims[i]
		same.Verdict, same.Because = "", ""
		if seen[same] {
			return r.wrong(fmt.Sprintf("claims[%d]", i), "%s in %s under %s was claimed before", same.Property, same.Workload, same.Fault)
		}
		seen[same] = true
	}
	return nil
}

func (r claimsReader) checkOne(c *worker.Expect, path string) error {
	if c.Fault == "" {
		c.Fault = faults.None().Name
	}
	if c.Workload == "" {
		c.Workload = showing(c.Property, c.Fault)
	}
	verdicts := []string{histories.Holds.String(), histories.Breaks.String(), histories.MeasuredOnly.String()}
	for _, f := range append(names(*c), named{"verdict", c.Verdict, verdicts}) {
		at := path + "." + f.field
		switch {
		case slices.Contains(f.known, f.text):
		case !r.text.Has(at):
			return r.wrong(path, "the claim has no %q", f.field)
		default:
			return r.suggested(r.text.Wrong(at, ""), console.Unknown(f.field, f.text, f.known))
		}
	}
	if c.Because == "" {
		return r.wrong(path, `the claim has no "because": a sentence for who reads the report`)
	}
	return nil
}

// named is a name in a claim, with those that there are.
type named struct {
	field, text string
	known       []string
}

func names(c worker.Expect) []named {
	return []named{
		{"property", c.Property, choice.Properties.Names()},
		{"fault", c.Fault, choice.Faults.Names()},
		{"workload", c.Workload, choice.Workloads.Names()},
	}
}

// showing is the workload that shows a property: the tables have special ones for those that others do not
// touch.
func showing(property, fault string) string {
	switch {
	case property == "reentrancy":
		return "reentrant"
	case property == "owner-release" && fault == faults.None().Name:
		return "misuse"
	}
	return "counter"
}
