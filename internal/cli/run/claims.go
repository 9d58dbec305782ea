package run

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"lockbench/histories"
	"lockbench/impls/worker"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/yamlfile"
)

const hintClaims = "docs/claims.schema.json has the shape of a file of claims, and examples/ci one"

// claims are what a library says of its lock; docs/claims.schema.json has their shape.
type claims struct {
	Lock   string
	Claims []worker.Expect
	Params map[string]string // handed to the worker
}

func (c *claims) keys() []yamlfile.Key {
	var schema string
	var version int
	return []yamlfile.Key{
		{Name: "$schema", Into: &schema, Form: yamlfile.Text},
		{Name: "lockbench_claims", Into: &version, Form: yamlfile.Whole, Min: 1, Top: 1, Required: true, Doc: "the version of the format, 1"},
		{Name: "lock", Into: &c.Lock, Form: yamlfile.Text, Required: true, Check: stated, Doc: "as its worker calls itself"},
		{Name: "claims", Into: &c.Claims, Form: yamlfile.Mapping, List: true, Required: true, Doc: "what is claimed",
			Of: func(into any) []yamlfile.Key { return claimKeys(into.(*worker.Expect)) }},
		{Name: "params", Into: &c.Params, Form: yamlfile.Pairs},
	}
}

func claimKeys(c *worker.Expect) []yamlfile.Key {
	verdicts := []string{histories.Holds.String(), histories.Breaks.String(), histories.MeasuredOnly.String()}
	return []yamlfile.Key{
		{Name: "property", Into: &c.Property, Form: yamlfile.Choice, Values: choice.Properties.Names(), Required: true, Doc: "what is claimed"},
		{Name: "fault", Into: &c.Fault, Form: yamlfile.Choice, Values: choice.Faults.Names()},
		{Name: "workload", Into: &c.Workload, Form: yamlfile.Choice, Values: choice.Workloads.Names()},
		{Name: "verdict", Into: &c.Verdict, Form: yamlfile.Choice, Values: verdicts, Required: true, Doc: "whether it " + strings.Join(verdicts, ", ")},
		{Name: "because", Into: &c.Because, Form: yamlfile.Text, Required: true, Check: stated, Doc: "a sentence for the reader of the report"},
	}
}

func stated(into any) error {
	if *into.(*string) == "" {
		return errors.New("there is none")
	}
	return nil
}

// readClaims reads a file of claims, and fills in what was left out. The error lists all mistakes.
func readClaims(file string) (claims, error) {
	var c claims
	var f *yamlfile.File
	text, err := os.ReadFile(file)
	if err == nil {
		f, err = yamlfile.ReadJSON(file, "file of claims", text, c.keys())
	}
	if err != nil {
		return c, console.Usage(err, hintClaims)
	}
	for i := range c.Claims {
		one := &c.Claims[i]
		one.Fault = cmp.Or(one.Fault, faults.None().Name)
		one.Workload = cmp.Or(one.Workload, showing(one.Property, one.Fault))
		if slices.ContainsFunc(c.Claims[:i], func(o worker.Expect) bool {
			return o.Property == one.Property && o.Fault == one.Fault && o.Workload == one.Workload
		}) {
			f.Wrong(fmt.Sprintf("claims[%d]", i), "%s in %s under %s was claimed before", one.Property, one.Workload, one.Fault)
		}
	}
	if err := f.Err(); err != nil {
		return c, console.Usage(err, hintClaims)
	}
	return c, nil
}

// showing is the workload that shows a property: the tables have special ones for those that others do not
// touch.
func showing(property, fault string) string {
	if property == "owner-release" && fault != faults.None().Name {
		return "counter"
	}
	return cmp.Or(map[string]string{"reentrancy": "reentrant", "owner-release": "misuse"}[property], "counter")
}
