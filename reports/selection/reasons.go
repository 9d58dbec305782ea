package selection

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/checker"
	"lockbench/reports/format"
)

// Reason selects the sentence that explains an answer or a value of a candidate. Figures are inserted into the sentence.
type Reason string

// The reasons that a report gives for its statements about a candidate. The map sentences holds the sentence for each
// reason.
const (
	Applies           Reason = "applies"
	DoesNotApply      Reason = "does-not-apply"
	NotStated         Reason = "not-stated"
	TwoCorrupt        Reason = "two-corrupt"
	AnyOperation      Reason = "any-operation"
	NothingHeld       Reason = "nothing-held"
	StorePresent      Reason = "store-present"
	StoreMissing      Reason = "store-missing"
	NoStore           Reason = "no-store"
	DatabasePresent   Reason = "database-present"
	DatabaseMissing   Reason = "database-missing"
	AvailableAs       Reason = "available-as"
	NoClient          Reason = "no-client"
	NoLibrary         Reason = "no-library"
	NotReentrant      Reason = "not-reentrant"
	NoLeaseEnds       Reason = "no-lease"
	HeldByConnection  Reason = "connection"
	LeaseCovers       Reason = "lease-covers"
	LeaseRenewed      Reason = "lease-renewed"
	NoLeaseFits       Reason = "no-lease-fits"
	Held              Reason = "held"
	Violated          Reason = "violated"
	ExpectedViolation Reason = "expected-violation"
	Undecided         Reason = "undecided"
	NotTried          Reason = "not-tried"
	PauseNotTried     Reason = "pause-not-tried"
	MedianOfTrials    Reason = "median"
	RecoveryOfTrials  Reason = "recovery"
	NotMeasured       Reason = "not-measured"
	UnsafeFigure      Reason = "unsafe"
	Withheld          Reason = "withheld"
	WithinLimit       Reason = "within-limit"
	BeyondLimit       Reason = "beyond-limit"
	TooNoisy          Reason = "too-noisy"
	NotBest           Reason = "not-best"
	NothingMeasured   Reason = "nothing-measured"
	LeaseNotConfirmed Reason = "lease-not-confirmed"
)

// sentences holds the sentence for each reason. A sentence may contain placeholders such as $store. The method facts returns
// the values to insert.
var sentences = map[Reason]string{
	Applies:           "You state that it applies.",
	DoesNotApply:      "You state that it does not apply.",
	NotStated:         "You did not state whether it applies.",
	TwoCorrupt:        "The operation can be repeated, but two at once corrupt the data.",
	AnyOperation:      "A lock guards any operation if all clients use the lock.",
	NothingHeld:       "Nothing is held that could expire or be lost.",
	StorePresent:      "Requires $store, which you run.",
	StoreMissing:      "Requires $store, which you do not run.",
	NoStore:           "Requires no store.",
	DatabasePresent:   "Requires a database with transactions, which you run.",
	DatabaseMissing:   "Requires a database with transactions, which you do not run.",
	AvailableAs:       "Available as $detail.",
	NoClient:          "No known client for $detail.",
	NoLibrary:         "Requires no library.",
	NotReentrant:      "It does not grant a lock again to its owner.",
	NoLeaseEnds:       "It has no lease that could expire during the work.",
	HeldByConnection:  "A hold lasts as long as its connection; no lease expires during the work.",
	LeaseCovers:       "A lease of $advised covers work of $work.",
	LeaseRenewed:      "A lease of $advised is renewed by the holder's process while it works.",
	NoLeaseFits:       "No lease covers work of $work and pauses of $pause, and expires within $recovery of a holder's death.",
	Held:              "No violation in $trials, $operations (workloads: $workloads; faults: $faults; lease: $leases).",
	Violated:          "$property violated in $violated of $of$under$where. $example",
	ExpectedViolation: "$property is expected to be violated$under: $because.",
	Undecided:         "$property undecided$under (workload $workload): $why.",
	NotTried:          "Not tried$at.",
	PauseNotTried:     "Not tried: a pause of $pause with a lease of $advised.",
	MedianOfTrials:    "$value $interval, median of $n: $clients, $keys, hold $hold. $notes",
	RecoveryOfTrials:  "$value $interval, median of $n with a killed holder, measured with a lease of $ttl.",
	NotMeasured:       "Not measured.",
	UnsafeFigure:      "Its figures do not count, because two clients held the lock at once in a trial: $unsafe",
	Withheld:          "Its figures do not count, because a control of the bench failed.",
	WithinLimit:       "$value $interval; the limit is $limit.",
	BeyondLimit:       "$value $interval; the limit is $limit.",
	TooNoisy:          "$value $interval; the limit of $limit lies in the interval.",
	NotBest:           "$part of the best.",
	NothingMeasured:   "Nothing was measured: it rests on what you stated, and on the documentation of the store.",
	LeaseNotConfirmed: "A trial of a lease disagrees with the prediction.",
}

// sentence returns the sentence that explains a table cell, which is an answer to a requirement or a measured value. If
// example is false, the sentence omits the test conditions and the example of a violation.
func (v *view) sentence(c Cell, example bool) string {
	text, known := sentences[c.Reason]
	if !known {
		return cmp.Or(string(c.Reason), "No evidence.")
	}
	facts := v.facts(c)
	if !example {
		facts["where"], facts["example"] = "", ""
	}
	text = os.Expand(text, func(name string) string { return facts[name] })
	return strings.TrimRight(strings.NewReplacer(" ,", ",", " ;", ";").Replace(text), " ")
}

// facts returns the values to insert into a sentence, by name.
func (v *view) facts(c Cell) map[string]string {
	o, n, unit := v.options[c.Option], v.Needs, ""
	facts := lo.Assign(v.observed(c), map[string]string{
		"store": strings.Join(nonEmpty(o.Store, strings.TrimPrefix(o.Deployment, "single")), "@"), "detail": c.Detail, "at": underFault(c.Detail),
		"advised": setting(time.Duration(v.LeasesNS[o.Lease])), "work": setting(n.Hold.Max), "pause": setting(n.Pauses.Longest), "recovery": setting(n.Recovery),
	})
	if f, found := lo.Find(v.Figures, func(f Figure) bool { return slices.Contains(c.Evidence, f.ID) }); found {
		maps.Copy(facts, map[string]string{
			"n": format.Plural(len(f.Estimate.Values), "trial"), "clients": format.Plural(f.Point.Clients, "client"), "keys": format.Plural(f.Point.Keys, "lock"),
			"hold": format.Setting(f.Point.HoldNS), "ttl": format.Setting(f.Point.TTLNS), "unsafe": f.Unsafe, "notes": v.notes(f),
		})
		k, _ := lo.Find(v.Criteria, func(k Criterion) bool { return k.Metric == f.Metric })
		unit = k.Unit
	}
	if c.Value != nil {
		facts["value"], facts["part"], facts["interval"] = amount(*c.Value, unit), format.Percent(*c.Value), format.Span(c.Low, c.High)
	}
	if c.Limit != nil {
		facts["limit"] = amount(*c.Limit, unit)
	}
	if c.Expectation != nil {
		facts["property"], facts["under"], facts["because"] = c.Expectation.Property, underFault(c.Expectation.Fault), c.Expectation.Because
	}
	return facts
}

func underFault(fault string) string {
	return lo.Ternary(fault == "none", " without a fault", " under "+fault)
}

// Gravity returns the rank of an observation: highest for violated, then undecided, then held.
func Gravity(o checker.Observed) int {
	return slices.Index([]checker.Observed{checker.NotApplicable, checker.Held, checker.Undecided, checker.Violated}, o)
}

// observed summarises the findings that the cell c cites. If a property is violated, the details come from the first
// finding with a violation.
func (v *view) observed(c Cell) map[string]string {
	seen := lo.Filter(v.Findings, func(f Finding, _ int) bool { return slices.Contains(c.Evidence, f.ID) })
	cells := lo.UniqBy(seen, func(f Finding) [2]string { return [2]string{f.Source, f.Dir} }) // findings in the same folder share their trials, so count the trials once
	quoted := lo.MaxBy(seen, func(a, b Finding) bool { return Gravity(a.Observed) > Gravity(b.Observed) })
	each := func(of func(Finding) string) string {
		return strings.Join(slices.Compact(slices.Sorted(slices.Values(lo.Map(seen, func(f Finding, _ int) string { return of(f) })))), ", ")
	}
	return map[string]string{
		"operations": format.Plural(lo.SumBy(cells, func(f Finding) int { return f.Operations }), "operation"),
		"trials":     format.Plural(lo.SumBy(cells, func(f Finding) int { return f.Trials }), "trial"),
		"workloads":  each(func(f Finding) string { return f.Workload }), "faults": each(func(f Finding) string { return f.Fault }),
		"leases": each(func(f Finding) string { return format.Setting(f.TTLNS) }), "lease": format.Setting(quoted.TTLNS), "under": underFault(quoted.Fault),
		"where":    " (workload " + quoted.Workload + ", lease " + format.Setting(quoted.TTLNS) + ")",
		"property": quoted.Property, "workload": quoted.Workload, "fault": quoted.Fault, "violated": format.Count(quoted.ViolatedIn),
		"of": format.Plural(quoted.Trials, "trial"), "why": quoted.Why, "example": lo.Ternary(quoted.Example == "", "", "Example: "+quoted.Example),
	}
}

func (v *view) notes(f Figure) string {
	var notes []string
	wait := f.Metric == "longest_wait"
	if v.Needs.Hold.P50 != time.Duration(f.Point.HoldNS) && f.Point.HoldNS > 0 && (wait || f.Metric == "goodput") {
		notes = append(notes, "Converted to a hold of "+setting(v.Needs.Hold.P50)+".")
	}
	if wait && f.Estimate.Median >= 0.95*float64(f.Point.DurationNS)/1e6 {
		notes = append(notes, "Cut off by the end of the trial.")
	}
	if f.Limited != "" {
		notes = append(notes, "The lock may do better: "+f.Limited)
	}
	return strings.Join(notes, " ")
}

func setting(d time.Duration) string { return format.Setting(int64(d)) }

func nonEmpty(all ...string) []string { return lo.Compact(all) }

func amount(value float64, unit string) string {
	return strings.TrimSpace(format.Significant(value) + " " + amountUnit(unit))
}

func amountUnit(unit string) string {
	if word, known := map[string]string{"us": "µs", "ratio": "", "count": ""}[unit]; known {
		return word
	}
	return unit
}
