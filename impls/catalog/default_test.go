package catalog

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// stated holds the locks that are not known-broken but whose expectations differ from expect.Default, with the reason.
var stated = map[string]string{
	"ferretdb":           "the emulator does not lock the documents that it updates, so two clients may be granted at once",
	"rueidislock":        "it promises a hold for as long as a context is not cancelled, and a paused process cannot cancel it",
	"rueidislock-tuned":  "as rueidislock",
	"postgres-advisory":  "",
	"redisson-lease":     "",
	"set-px-wait":        "",
	"reentrant-count-fixed": "",
}

// TestDefaultExpectations compares the default expectations of each lock with those in the catalog. They must differ
// for known-broken locks and for the locks in stated, and agree for all others.
func TestDefaultExpectations(t *testing.T) {
	for _, l := range All() {
		l.Leased = l.Store != "" && !l.Session && !slices.Contains([]string{"setnx", "mysql-row"}, l.Name)
		differs := contradictions(l)
		_, known := stated[l.Name]
		switch {
		case l.Control && len(differs) == 0:
			t.Errorf("the known-broken lock %s meets all default expectations", l.Name)
		case !l.Control && !known && len(differs) > 0:
			t.Errorf("%s states otherwise:\n%s", l.Name, strings.Join(differs, "\n"))
		case known && len(differs) == 0:
			t.Errorf("%s is listed, and states nothing else", l.Name)
		}
	}
}

func contradictions(l impls.Impl) (all []string) {
	for _, d := range expect.Default(l) {
		where := impls.Situation{Workload: cmp.Or(d.Workload, "counter"), Special: d.Workload != "", Fault: d.Fault, Deployment: l.Deployment, Processes: 3}
		for _, e := range l.Expected(where) {
			if e.Property == d.Property && e.Expected != d.Expected {
				all = append(all, strings.Join([]string{"", d.Property, where.Workload, d.Fault, e.Expected.String(), e.Because}, " "))
			}
		}
	}
	return all
}
