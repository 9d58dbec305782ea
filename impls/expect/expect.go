// Package expect builds the expectations of a lock, as lists of impls.Expectation:
//
//	slices.Concat(
//		expect.Excludes("SET NX is atomic"),
//		expect.Under("holder-kill", expect.Violated("nothing deletes the key", "recovery", "no-orphan")),
//		expect.In("misuse", expect.Holds("the release compares first", "owner-release")))
//
// Unless Under is used, an expectation applies to runs without a fault.
package expect

import (
	"slices"
	"strings"

	"lockbench/histories"
	"lockbench/impls"
)

// Exclusion lists the three properties of mutual exclusion. They apply to the leases that grants promise, to the holds that
// clients observe, and to the guarded resource.
var Exclusion = []string{"lease-exclusion", "mutual-exclusion", "resource-integrity"}

// Holds returns the expectations that the given properties hold.
func Holds(because string, properties ...string) []impls.Expectation {
	return expectations(histories.ToHold, because, properties)
}

// Violated returns the expectations that the given properties are violated.
func Violated(because string, properties ...string) []impls.Expectation {
	return expectations(histories.ToBeViolated, because, properties)
}

// Observed returns expectations without an expected verdict for the given properties. The report shows the verdicts,
// but they count neither as pass nor as failure.
func Observed(because string, properties ...string) []impls.Expectation {
	return expectations(histories.Unspecified, because, properties)
}

// Excludes returns expectations that mutual exclusion holds: one for each property in Exclusion.
func Excludes(because string) []impls.Expectation { return Holds(because, Exclusion...) }

func expectations(expected histories.Expected, because string, properties []string) []impls.Expectation {
	var out []impls.Expectation
	for _, p := range properties {
		out = append(out, impls.Expectation{Property: p, Fault: "none", Expected: expected, Because: because})
	}
	return out
}

// In limits the given expectations to one workload.
func In(workload string, lists ...[]impls.Expectation) []impls.Expectation {
	return changeAll(func(e *impls.Expectation) { e.Workload = workload }, lists)
}

// On limits the given expectations to one deployment.
func On(deployment string, lists ...[]impls.Expectation) []impls.Expectation {
	return changeAll(func(e *impls.Expectation) { e.Deployment = deployment }, lists)
}

// Between limits the given expectations to runs with at least the given number of processes.
func Between(processes int, lists ...[]impls.Expectation) []impls.Expectation {
	return changeAll(func(e *impls.Expectation) { e.Processes = processes }, lists)
}

// Under limits the given expectations to trials with one of the given faults. The parameter faults is a list of fault
// names, separated by spaces. The list may contain faults that do not apply to the lock, so that several locks can
// share a list. No trial injects such a fault, so the expectation has no effect.
func Under(faults string, lists ...[]impls.Expectation) []impls.Expectation {
	var out []impls.Expectation
	for fault := range strings.FieldsSeq(faults) {
		out = append(out, changeAll(func(e *impls.Expectation) { e.Fault = fault }, lists)...)
	}
	return out
}

func changeAll(change func(*impls.Expectation), lists [][]impls.Expectation) []impls.Expectation {
	all := slices.Concat(lists...)
	for i := range all {
		change(&all[i])
	}
	return all
}
