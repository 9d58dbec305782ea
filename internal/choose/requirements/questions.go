package requirements

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/internal/yamlfile"
	"lockbench/reports/selection"
)

type question struct {
	of   string   // what the answers are called together
	keys []string // paths; answers stand in this order
	text string
	why  string
	more string
}

// questions returns all questions, in order: first whether a lock is needed at all. Only `commands` is left to the file.
func questions() []question {
	return []question{
		{"if_two_hold", []string{"if_two_hold"},
			"What becomes of it if two hold the lock at once: corruption or wasted-work?",
			"where two do harm, no speed makes up for a lock that lets two in.",
			"corruption: wrong data, money, stock; it must not happen. wasted-work: something is done twice, which costs time and nothing else."},
		{"instead", []string{"instead"},
			"Could something decide it without a lock: idempotent, compare-and-set, database-row, or none?",
			"what needs no lock cannot be harmed by one that fails.",
			"idempotent: done twice, the second changes nothing. compare-and-set: a unique constraint, a version column, a conditional write. " +
				"database-row: all that is guarded is changed in one transaction of one database. Name all that are possible."},
		{"checks_fence", []string{"checks_fence"},
			"Does what is guarded check fencing tokens: nothing, writes, or reads-and-writes?",
			"a process that stood still past its lease goes on as if it held the lock; only what is guarded can refuse it then.",
			"A fencing token is a number that rises with each grant. writes: a write with a lower token than the highest that it wrote with is refused. " +
				"reads-and-writes: a read raises the mark too. If you have never heard of it, it is nothing."},
		{"hold", []string{"hold.p50", "hold.p99", "hold.max"},
			"How long does the work under the lock take: at p50, at p99, at most?",
			"a lease has to outlast the work, or to be renewed.",
			"Three times with a unit, such as 5ms 40ms 200ms. What you leave out follows from the others."},
		{"pauses", []string{"pauses.p50", "pauses.p99", "pauses.longest", "pauses.per_hour"},
			"How long does a process stand still: at p50, at p99, at the longest, and how often in an hour?",
			"a pause that outlasts a lease lets another in while the first still works.",
			"Collections, a host that is busy, a machine that is moved: three times with a unit and a number, such as 10ms 100ms 500ms 60. " +
				"What your runtime logs of its collections is a beginning, but not all."},
		{"waiting", []string{"recovery_within", "wait"},
			"How soon after the death of a holder must another be granted the lock, and how long does a client wait before it gives up?",
			"the shorter the recovery, the shorter the lease, and the likelier that a pause outlasts it.",
			"Two times with a unit, such as 10s 2s. 0s for the first: whenever. 0s for the second: until it is granted."},
		{"load", []string{"clients", "rate", "fair", "reenters"},
			"Of the busiest lock: how many clients want it at once, how many grants a second are wanted, may nobody be passed over, and does an owner ask again for what it holds?",
			"locks differ most where many want the same one.",
			"Two numbers and twice yes or no, such as 16 50 no no. 0 grants a second: as they come."},
		{"stores", []string{"stores"},
			"Which stores are there that somebody runs?",
			"a store that nobody runs is a cost of its own, whatever its locks can do.",
			"redis is a single server, redis@replica one with a replica, redis@five five servers for Redlock. Name all of them."},
		{"survives_store", []string{"survives_store"},
			"What may befall the store without two being let in: restart, failover, clock, eviction, or none?",
			"a store that forgets a lock grants it again.",
			"restart: it comes back with what it has on disk. failover: a replica takes over. clock: its clock jumps. eviction: it drops keys for want of memory. " +
				"none: work is stopped by other means when it happens."},
		{"languages", []string{"languages"},
			"Which languages are its users written in, or any?",
			"a library of one language is no use in another.",
			"Small letters, such as go java python. any: a lock is written down anew, where there is no library."},
		{"weights", []string{"weights"},
			"What matters most among locks that do all that is needed: a weight from 0 to 10 for goodput, acquire, wait, fairness, recovery, commands?",
			"weights decide among what is safe, and never between safe and unsafe.",
			"Pairs of a name and a weight, such as goodput 2 recovery 0; what is left out has 1."},
		{"name", []string{"name", "guards"},
			"What is the decision called, in one word, and what is guarded, in a few?",
			"it stands above the report, and in the name of the file.",
			"Such as: inventory the stock of products. The word has small letters, digits and dashes."},
	}
}

const (
	shortest      = time.Microsecond
	longestHold   = 24 * time.Hour
	longestPause  = time.Hour
	leastRecovery = 100 * time.Millisecond
)

// Table returns the keys of needs, for their documentation and schema.
func Table() []yamlfile.Key { return keys(new(selection.Needs), Known{}) }

func keys(n *selection.Needs, k Known) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "name", Into: &n.Name, Form: yamlfile.Name, Required: true, Doc: "what the decision is called"},
		{Name: "guards", Into: &n.Guards, Form: yamlfile.Text, Doc: "what is guarded, for people"},
		{Name: "if_two_hold", Into: &n.TwoHold, Form: yamlfile.Choice, Required: true, Values: []string{string(selection.Corruption), string(selection.WastedWork)},
			Doc: "what becomes of it if two hold at once: `corruption` (wrong data, money, stock) must not happen, `wasted-work` costs time and nothing else"},
		{Name: "instead", Into: &n.Instead, Form: yamlfile.Choice, List: true, Empty: true, Values: []string{string(selection.Idempotent), string(selection.Compare), string(selection.Row)},
			Doc: "what could decide it without a lock: `idempotent` (done twice, the second changes nothing), `compare-and-set` (a unique constraint, a version, a conditional write), `database-row` (all that is guarded is changed in one transaction of one database)"},
		{Name: "checks_fence", Into: &n.Fence, Form: yamlfile.Choice, Values: []string{string(selection.NoCheck), string(selection.OnWrites), string(selection.OnAll)}, Normally: "nothing",
			Doc: "which operations what is guarded refuses, if they come with a fencing token that is lower than one it has seen"},
		{Name: "hold", Into: &n.Hold, Form: yamlfile.Mapping, Of: func(into any) []yamlfile.Key { return holdKeys(into.(*selection.Times)) }, Normally: "see below", Doc: "how long the work under the lock takes"},
		{Name: "pauses", Into: &n.Pauses, Form: yamlfile.Mapping, Of: func(into any) []yamlfile.Key { return pauseKeys(into.(*selection.Pauses)) }, Normally: "see below", Doc: "how a process stands still: collections, a busy host, a machine that is moved"},
		{Name: "recovery_within", Into: &n.Recovery, Form: yamlfile.Span, To: 24 * time.Hour, Normally: "30s", Doc: "from the death of a holder to the next grant, 100ms at the least; 0s: whenever"},
		{Name: "clients", Into: &n.Clients, Form: yamlfile.Whole, Min: 1, Top: 10000, Normally: "16", Doc: "that want the busiest lock at once"},
		{Name: "rate", Into: &n.Rate, Form: yamlfile.Number, Max: 1e6, Normally: "0", Doc: "grants of the busiest lock that are wanted, per second; 0: as they come"},
		{Name: "wait", Into: &n.Wait, Form: yamlfile.Span, To: 24 * time.Hour, Normally: "0s", Doc: "how long a client waits to be granted; 0s: until it is"},
		{Name: "fair", Into: &n.Fair, Form: yamlfile.Flag, Normally: "false", Doc: "whether nobody may be passed over for long"},
		{Name: "commands", Into: &n.Commands, Form: yamlfile.Number, Max: 1e6, Normally: "0", Doc: "of the store, for each grant, at most; 0: any"},
		{Name: "reenters", Into: &n.Reenters, Form: yamlfile.Flag, Normally: "false", Doc: "whether an owner asks again for what it holds"},
		among(k.Languages, yamlfile.Key{Name: "languages", Into: &n.Language, Form: yamlfile.Text, Check: named, List: true, Empty: true, Normally: "any",
			Doc: "that its users are written in"}),
		among(k.Stores, yamlfile.Key{Name: "stores", Into: &n.Stores, Form: yamlfile.Placed, List: true, Normally: "redis",
			Doc: "that are there and run by somebody: `redis`, `redis@replica`, `postgres` and so on"}),
		{Name: "survives_store", Into: &n.Survives, Form: yamlfile.Choice, List: true, Empty: true, Normally: "restart, if two must not hold",
			Values: []string{string(selection.Restart), string(selection.Failover), string(selection.Clock), string(selection.Eviction)},
			Doc:    "what befalls a store and may not let two in: `restart` (with what it has on disk), `failover` (a replica takes over), `clock` (its clock jumps), `eviction` (it drops keys for want of memory); `[]`: nothing of it has to be survived"},
		{Name: "weights", Into: &n.Weights, Form: yamlfile.Mapping, Of: func(into any) []yamlfile.Key { return weightKeys(into.(*map[string]float64)) }, Normally: "see below", Doc: "of what is compared, once all that is needed is met"},
	}
}

func holdKeys(t *selection.Times) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "p50", Into: &t.P50, Form: yamlfile.Span, From: shortest, To: longestHold, Normally: "5ms, or a tenth of `p99`", Doc: "half of the holds are no longer"},
		{Name: "p99", Into: &t.P99, Form: yamlfile.Span, From: shortest, To: longestHold, Normally: "10 x `p50`", Doc: "99 of 100 are no longer"},
		{Name: "max", Into: &t.Max, Form: yamlfile.Span, From: shortest, To: longestHold, Normally: "10 x `p99`", Doc: "none is longer"},
	}
}

func pauseKeys(p *selection.Pauses) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "per_hour", Into: &p.PerHour, Form: yamlfile.Number, Max: 1e5, Normally: "60, or as many as fit", Doc: "of one process; 0: it never stands still"},
		{Name: "p50", Into: &p.P50, Form: yamlfile.Span, From: shortest, To: longestPause, Normally: "10ms, or a tenth of `p99`", Doc: "half of the pauses are no longer"},
		{Name: "p99", Into: &p.P99, Form: yamlfile.Span, From: shortest, To: longestPause, Normally: "10 x `p50`", Doc: "99 of 100 are no longer"},
		{Name: "longest", Into: &p.Longest, Form: yamlfile.Span, From: shortest, To: longestPause, Normally: "5 x `p99`", Doc: "that was ever seen"},
	}
}

// weightKeys has a key for each of decision.Criteria.
func weightKeys(weights *map[string]float64) []yamlfile.Key {
	key := func(name, doc string) yamlfile.Key {
		return yamlfile.Key{Name: name, Into: &weight{weights, name}, Form: yamlfile.Number, Max: 10, Normally: "1", Doc: doc}
	}
	return []yamlfile.Key{
		key("goodput", "work done per second, when many want the same lock"),
		key("acquire", "how long it takes to be granted a lock that nobody holds"),
		key("wait", "how long the unluckiest client waits, when many want the same lock"),
		key("fairness", "how evenly grants are shared out"),
		key("recovery", "how soon another is granted it when its holder has died"),
		key("commands", "how few commands each grant costs the store"),
	}
}

// weight is one of the weights; 1 if it is missing.
type weight struct {
	of   *map[string]float64
	name string
}

func (w *weight) UnmarshalText(text []byte) (err error) {
	if *w.of == nil {
		*w.of = map[string]float64{}
	}
	(*w.of)[w.name], err = strconv.ParseFloat(string(text), 64)
	return err
}

func (w *weight) MarshalText() ([]byte, error) {
	return []byte(yamlfile.Plainly(selection.Needs{Weights: *w.of}.Weight(w.name))), nil
}

// among makes a key a choice among the names that are known; nil: it stays as it is.
func among(known []string, k yamlfile.Key) yamlfile.Key {
	if known != nil {
		k.Form, k.Values = yamlfile.Choice, known
	}
	return k
}

// named refuses a language without a name. A name may have any signs: C++, C#.
func named(into any) error {
	if *into.(*string) == "" {
		return errors.New("one of them has no name")
	}
	return nil
}

// Write returns needs as a file for people to edit. Assumed needs are comments, and stay assumed when it is read.
func Write(n selection.Needs) []byte {
	var b bytes.Buffer
	b.WriteString("# What is needed of whatever keeps two from doing the same thing at once (docs/selection.md).\n" +
		"# A need behind a # was not stated: its default stands there. Take the # away to state it.\n")
	n.Guards = strings.Join(strings.Fields(n.Guards), " ")
	for _, k := range keys(&n, Known{}) {
		b.WriteString("\n" + comment(k.Doc))
		if k.Form == yamlfile.Mapping {
			writeMapping(&b, k, n.Assumed)
			continue
		}
		unsaid := slices.Contains(n.Assumed, k.Name) || k.Name == "guards" && n.Guards == ""
		b.WriteString(strings.TrimRight(hash(unsaid)+k.Name+": "+k.Text(), " ") + "\n")
	}
	return b.Bytes()
}

// writeMapping writes a mapping, as a comment if nothing in it was stated.
func writeMapping(b *bytes.Buffer, k yamlfile.Key, assumed []string) {
	inner := k.Of(k.Into)
	unsaid := func(of yamlfile.Key) bool { return slices.Contains(assumed, k.Name+"."+of.Name) }
	none := !slices.ContainsFunc(inner, func(of yamlfile.Key) bool { return !unsaid(of) })
	fmt.Fprintf(b, "%s%s:\n", hash(none), k.Name)
	for _, of := range inner {
		fmt.Fprintf(b, "%s  %s: %s # %s\n", hash(unsaid(of)), of.Name, of.Text(), of.Doc)
	}
}

func comment(text string) string {
	const width = 100
	out, column := "#", 1
	for _, word := range strings.Fields(text) {
		if column+1+len(word) > width {
			out, column = out+"\n#", 1
		}
		out, column = out+" "+word, column+1+len(word)
	}
	return out + "\n"
}

func hash(unsaid bool) string { return lo.Ternary(unsaid, "# ", "") }
