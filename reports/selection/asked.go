package selection

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockbench/reports/format"

	"lockbench/internal/choose/decision"
)

// asked is one need as it is shown.
type asked struct {
	Key    string // in the file of needs
	Title  string
	Answer string
	Tag    string // stated; assumed, where nobody stated it; or which parts of it are assumed
}

// asks are all needs, in the order of the questions.
func (v *view) asks() []asked {
	n := v.Needs
	all := []asked{
		{Key: "guards", Title: "What is guarded", Answer: n.Guards},
		{Key: "if_two_hold", Title: "If two hold it at once", Answer: harmText(n.TwoHold)},
		{Key: "instead", Title: "What could decide it without a lock", Answer: orNothing(meansText(n.Instead))},
		{Key: "checks_fence", Title: "What the guarded resource does with fencing tokens", Answer: checkText(n.Fence)},
		{Key: "hold", Title: "How long the work under the lock takes", Answer: timesText(n.Hold)},
		{Key: "pauses", Title: "How a process stands still", Answer: pausesText(n.Pauses)},
		{Key: "recovery_within", Title: "After a holder’s death, the next grant comes", Answer: within(n.Recovery)},
		{Key: "clients", Title: "Clients that want the busiest lock at once", Answer: fmt.Sprint(n.Clients)},
		{Key: "rate", Title: "Grants of the busiest lock that are wanted", Answer: orElse(n.Rate > 0, format.TrimZeros(format.Significant(n.Rate))+" /s", "as they come")},
		{Key: "wait", Title: "A client waits", Answer: orElse(n.Wait > 0, "at most "+format.Setting(int64(n.Wait)), "until it is granted")},
		{Key: "fair", Title: "Nobody may be passed over for long", Answer: yesOrNo(n.Fair)},
		{Key: "commands", Title: "Commands of the store for each grant", Answer: orElse(n.Commands > 0, "at most "+format.TrimZeros(format.Significant(n.Commands)), "any number")},
		{Key: "reenters", Title: "An owner asks again for what it holds", Answer: yesOrNo(n.Reenters)},
		{Key: "languages", Title: "Languages of its users", Answer: orElse(len(n.Language) > 0, format.Joined(n.Language), "any")},
		{Key: "stores", Title: "Stores that are there", Answer: orNothing(format.Joined(n.Stores))},
		{Key: "survives_store", Title: "What befalls the store and may not let two in", Answer: orNothing(troublesText(n.Survives))},
		{Key: "weights", Title: "Weights of the criteria", Answer: weightsText(n.Weights)},
	}
	all = slices.DeleteFunc(all, func(a asked) bool { return a.Key == "guards" && a.Answer == "" })
	for i := range all {
		all[i].Tag = origin(n, all[i].Key)
	}
	return all
}

// origin says whether somebody stated a need, or some parts of it.
func origin(n decision.Needs, key string) string {
	if n.Unstated(key) {
		return "assumed"
	}
	var parts []string
	for _, a := range n.Assumed {
		if part, of := strings.CutPrefix(a, key+"."); of {
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 {
		return format.Joined(parts) + " assumed"
	}
	return "stated"
}

func orElse(ok bool, text, otherwise string) string {
	if ok {
		return text
	}
	return otherwise
}

func orNothing(s string) string { return orElse(s != "", s, "nothing") }

func yesOrNo(b bool) string { return orElse(b, "yes", "no") }

func within(d time.Duration) string {
	return orElse(d > 0, "within "+format.Setting(int64(d)), "whenever it comes")
}

func harmText(h decision.Harm) string {
	switch h {
	case decision.Corruption:
		return "data, money or stock is wrong: it must not happen (corruption)"
	case decision.WastedWork:
		return "something is done twice, which costs time and nothing else (wasted work)"
	}
	return string(h)
}

func meansText(all []decision.Means) string {
	var parts []string
	for _, m := range all {
		switch m {
		case decision.Idempotent:
			parts = append(parts, "the operation can be done twice")
		case decision.Compare:
			parts = append(parts, "a unique constraint or compare-and-set")
		case decision.Row:
			parts = append(parts, "a row of the database that holds all that is guarded")
		default:
			parts = append(parts, string(m))
		}
	}
	return format.Joined(parts)
}

func checkText(c decision.Check) string {
	switch c {
	case decision.NoCheck:
		return "nothing: it does not look at them"
	case decision.OnWrites:
		return "it refuses a write with an older token than the newest that it wrote with"
	case decision.OnAll:
		return "it refuses a write with an older token than the newest that it has seen, also on a read"
	}
	return string(c)
}

func troublesText(all []decision.Trouble) string {
	var parts []string
	for _, t := range all {
		switch t {
		case decision.Restart:
			parts = append(parts, "a restart")
		case decision.Failover:
			parts = append(parts, "a failover to a replica")
		case decision.Clock:
			parts = append(parts, "a jump of its clock")
		case decision.Eviction:
			parts = append(parts, "eviction for want of memory")
		default:
			parts = append(parts, string(t))
		}
	}
	return format.Joined(parts)
}

func timesText(t decision.Times) string {
	return fmt.Sprintf("p50 %s, p99 %s, at most %s", format.Setting(int64(t.P50)), format.Setting(int64(t.P99)), format.Setting(int64(t.Max)))
}

func pausesText(p decision.Pauses) string {
	text := fmt.Sprintf("%s times an hour: p50 %s, p99 %s, the longest ever seen %s",
		format.TrimZeros(format.Significant(p.PerHour)), format.Setting(int64(p.P50)), format.Setting(int64(p.P99)), format.Setting(int64(p.Longest)))
	if p.Measured != "" {
		text += " (measured: " + p.Measured + ")"
	}
	return text
}

func weightsText(weights map[string]float64) string {
	if len(weights) == 0 {
		return "all alike"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		parts = append(parts, name+" "+format.TrimZeros(format.Significant(weights[name])))
	}
	return format.Joined(parts) + "; 1 for each other"
}
