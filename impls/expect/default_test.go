package expect_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/expect"
)

var update = flag.Bool("update", false, "rewrite the table in docs/reference/expectations.md")

const page = "../../docs/reference/expectations.md"

// TestPage checks the table of docs/reference/expectations.md.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found1 := strings.Cut(string(text), "<!-- table -->\n")
	_, after, found2 := strings.Cut(rest, "<!-- end -->")
	if !found1 || !found2 {
		t.Fatal("the page has no place for the table")
	}
	want := before + "<!-- table -->\n" + table() + "<!-- end -->" + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("the table differs: go test ./impls/expect -update\n%s", table())
	}
}

// table returns the default expectations as Markdown. Expectations that differ only in the fault or property share a row.
func table() string {
	var b strings.Builder
	b.WriteString("| a lock that | workload | fault | is expected to have | because |\n|---|---|---|---|---|\n")
	base := expect.Default(impls.Impl{})
	for _, c := range []struct {
		name string
		lock impls.Impl
	}{
		{"locks", impls.Impl{}}, {"has a lease", impls.Impl{Leased: true, Renews: true}}, {"has a lease, without `watchdog`", impls.Impl{Leased: true}},
		{"`watchdog`", impls.Impl{Renews: true}}, {"`session`", impls.Impl{Session: true}}, {"`reentrant`", impls.Impl{Reentrant: true}},
		{"`fencing`", impls.Impl{Fences: true}}, {"`notifies`", impls.Impl{Notifies: true}}, {"`lost`", impls.Impl{ReportsLoss: true}},
	} {
		all := expect.Default(c.lock)
		without := base
		switch {
		case c.name == "locks":
			without = nil
		case c.lock.Leased && c.lock.Renews:
			without = expect.Default(impls.Impl{Renews: true})
		case c.lock.Leased:
			without = slices.Concat(base, expect.Default(impls.Impl{Leased: true, Renews: true}))
		}
		all = slices.DeleteFunc(all, func(e impls.Expectation) bool { return slices.Contains(without, e) })
		for _, row := range rows(all) {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.name, row.workload, strings.Join(row.faults, ", "), strings.Join(row.properties, ", "), row.because)
		}
	}
	return b.String()
}

type row struct {
	workload, because  string
	faults, properties []string
}

func rows(all []impls.Expectation) (out []row) {
	for _, e := range all {
		i := slices.IndexFunc(out, func(r row) bool {
			return r.workload == e.Workload && r.because == e.Because && (slices.Equal(r.faults, []string{e.Fault}) || slices.Equal(r.properties, []string{e.Property}))
		})
		switch {
		case i < 0:
			out = append(out, row{e.Workload, e.Because, []string{e.Fault}, []string{e.Property}})
		case !slices.Contains(out[i].properties, e.Property):
			out[i].properties = append(out[i].properties, e.Property)
		default:
			out[i].faults = append(out[i].faults, e.Fault)
		}
	}
	for i := 0; i < len(out); i++ { // merge rows that differ only in the fault
		for j := len(out) - 1; j > i; j-- {
			if out[i].workload == out[j].workload && out[i].because == out[j].because && slices.Equal(out[i].properties, out[j].properties) {
				out[i].faults = append(out[i].faults, out[j].faults...)
				out = slices.Delete(out, j, j+1)
			}
		}
		if out[i].workload == "" {
			out[i].workload = "any"
		}
	}
	return out
}

func TestOverride(t *testing.T) {
	a := impls.Expectation{Property: "p", Fault: "none", Expected: histories.ToHold, Because: "default"}
	b := impls.Expectation{Property: "q", Fault: "none", Expected: histories.ToHold, Because: "default"}
	author := impls.Expectation{Property: "p", Fault: "none", Expected: histories.ToBeViolated, Because: "a known defect"}
	elsewhere := impls.Expectation{Property: "q", Fault: "none", Workload: "misuse", Expected: histories.ToHold, Because: "in misuse"}
	if got := expect.Override([]impls.Expectation{a, b}, []impls.Expectation{author, elsewhere}); !slices.Equal(got, []impls.Expectation{b, author, elsewhere}) {
		t.Errorf("%+v", got)
	}
}
