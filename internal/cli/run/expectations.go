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

const hintExpectations = "docs/expectations.schema.json has the schema, and examples/ci an example"

// expected is a file of expectations. docs/expectations.schema.json is its schema.
type expected struct {
	Lock         string
	Expectations []worker.Expectation
	Params       map[string]string // parameters passed to the worker
}

func (c *expected) keys() []yamlfile.Key {
	var schema string
	var version int
	return []yamlfile.Key{
		{Name: "$schema", Into: &schema, Form: yamlfile.Text},
		{Name: "lockbench_expectations", Into: &version, Form: yamlfile.Whole, Min: 1, Top: 1, Required: true, Doc: "the version of the format, 1"},
		{Name: "lock", Into: &c.Lock, Form: yamlfile.Text, Required: true, Check: stated, Doc: "the name that its worker states"},
		{Name: "expectations", Into: &c.Expectations, Form: yamlfile.Mapping, List: true, Required: true, Doc: "what is expected",
			Of: func(into any) []yamlfile.Key { return expectationKeys(into.(*worker.Expectation)) }},
		{Name: "params", Into: &c.Params, Form: yamlfile.Pairs},
	}
}

func expectationKeys(c *worker.Expectation) []yamlfile.Key {
	values := []string{histories.ToHold.String(), histories.ToBeViolated.String(), histories.Unspecified.String()}
	return []yamlfile.Key{
		{Name: "property", Into: &c.Property, Form: yamlfile.Choice, Values: choice.Properties.Names(), Required: true, Doc: "see lockbench list properties"},
		{Name: "fault", Into: &c.Fault, Form: yamlfile.Choice, Values: choice.Faults.Names()},
		{Name: "workload", Into: &c.Workload, Form: yamlfile.Choice, Values: choice.Workloads.Names()},
		{Name: "expected", Into: &c.Expected, Form: yamlfile.Choice, Values: values, Required: true, Doc: "one of " + strings.Join(values, ", ")},
		{Name: "because", Into: &c.Because, Form: yamlfile.Text, Required: true, Check: stated, Doc: "a sentence for the reader of the report"},
	}
}

func stated(into any) error {
	if *into.(*string) == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// readExpectations reads a file of expectations and sets defaults. The error lists all mistakes.
func readExpectations(file string) (expected, error) {
	var c expected
	var f *yamlfile.File
	text, err := os.ReadFile(file)
	if err == nil {
		f, err = yamlfile.ReadJSON(file, "file of expectations", text, c.keys())
	}
	if err != nil {
		return c, console.Usage(err, hintExpectations)
	}
	for i := range c.Expectations {
		one := &c.Expectations[i]
		one.Fault = cmp.Or(one.Fault, faults.None().Name)
		one.Workload = cmp.Or(one.Workload, defaultWorkload(one.Property, one.Fault))
		if slices.ContainsFunc(c.Expectations[:i], func(o worker.Expectation) bool {
			return o.Property == one.Property && o.Fault == one.Fault && o.Workload == one.Workload
		}) {
			f.Wrong(fmt.Sprintf("expectations[%d]", i), "%s in %s under %s is stated before", one.Property, one.Workload, one.Fault)
		}
	}
	if err := f.Err(); err != nil {
		return c, console.Usage(err, hintExpectations)
	}
	return c, nil
}

// defaultWorkload returns the workload in which a property is checked by default. Some properties can be violated
// only in a special workload.
func defaultWorkload(property, fault string) string {
	workload := map[string]string{"reentrancy": "reentrant", "owner-release": "misuse", "abandoned-acquire": "long-hold", "loss-notice": "long-hold"}[property]
	if workload == "" || workload != "reentrant" && fault != faults.None().Name {
		return "counter"
	}
	return workload
}
