package catalog

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// stated contains the exceptions to TestDefaultExpectations. It maps the name of a lock to a reason. It lists correct
// locks whose expectations differ from the default ones. It also lists known-broken locks whose expectations do not
// differ.
var stated = map[string]string{
	"ferretdb":          "the server does not lock the documents that it updates, so two clients may be granted at once",
	"rueidislock":       "it promises a hold until its context ends, and a paused process cannot end the context",
	"rueidislock-tuned": "as rueidislock",
	"mysql-row":         "it states no lease, so that its recovery is not expected",
	"zookeeper-herd":    "it excludes; its defect is the herd of waiters that each release wakes",
	"fenced-counter":    "its tokens fall only if a server loses its memory, and servers are not harmed by default",
}

// TestDefaultExpectations compares the default expectations with those that the catalog states for each lock. They must
// agree for a correct lock, and differ for a known-broken lock. The variable stated lists the exceptions.
func TestDefaultExpectations(t *testing.T) {
	for _, l := range All() {
		l.Leased = l.Store != "" && !l.Session && !slices.Contains([]string{"setnx", "mysql-row"}, l.Name)
		differs := contradictions(l)
		_, known := stated[l.Name]
		switch {
		case known && l.Control != (len(differs) == 0):
			t.Errorf("%s is listed for no reason", l.Name)
		case known:
		case l.Control && len(differs) == 0:
			t.Errorf("the known-broken lock %s meets all default expectations", l.Name)
		case !l.Control && len(differs) > 0:
			t.Errorf("%s states otherwise:\n%s", l.Name, strings.Join(differs, "\n"))
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
