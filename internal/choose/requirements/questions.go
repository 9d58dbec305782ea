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
	of   string   // name of the question, such as "if_two_hold"
	keys []string // paths of the keys, in the order in which the user gives their values
	text string
	why  string
	more string
}

// questions returns the questions for the user, in the order in which they are asked. The first questions help to decide
// whether a lock is needed at all. Each requirement has a question, except "commands", which can be set only in the file.
func questions() []question {
	return []question{
		{"if_two_hold", []string{"if_two_hold"},
			"What happens if two clients hold the lock at once: corruption or wasted-work?",
			"if two holders do damage, a faster lock that allows two is no alternative.",
			"corruption: wrong data, money or stock; it must not happen. wasted-work: something is done twice, which only costs time."},
		{"instead", []string{"instead"},
			"Could something replace the lock: idempotent, compare-and-set, database-row, or none?",
			"without a lock there is no lock that can fail.",
			"idempotent: a repetition changes nothing. compare-and-set: a unique constraint, a version column, a conditional write. " +
				"database-row: all guarded data is changed in one transaction of one database. Name all that apply."},
		{"checks_fence", []string{"checks_fence"},
			"Does the guarded resource check fencing tokens: nothing, writes, or reads-and-writes?",
			"a process that was paused past its lease goes on as if it held the lock; only the guarded resource can refuse its writes.",
			"A fencing token is a number that rises with each grant. writes: a write is refused if its token is lower than that of an earlier write. " +
				"reads-and-writes: a read counts as well as a write. If you do not know, answer nothing."},
		{"hold", []string{"hold.p50", "hold.p99", "hold.max"},
			"How long does the work under the lock take: at p50, at p99, at most?",
			"a lease must be longer than the work, or be renewed.",
			"Three times with a unit, such as 5ms 40ms 200ms. A time that you leave out is estimated from the others."},
		{"pauses", []string{"pauses.p50", "pauses.p99", "pauses.longest", "pauses.per_hour"},
			"How long is a process paused: at p50, at p99, at most, and how often per hour?",
			"if a pause is longer than the lease, another client is granted the lock while the first still works.",
			"Garbage collection, a busy host, a migrated machine: three times with a unit and a number, such as 10ms 100ms 500ms 60. " +
				"The garbage collection log of your runtime shows some of them, but not all."},
		{"waiting", []string{"recovery_within", "wait"},
			"How soon after the death of a holder must another client be granted the lock, and how long does a client wait at most?",
			"a short recovery requires a short lease, which a pause is more likely to exceed.",
			"Two times with a unit, such as 10s 2s. The first 0s: no limit. The second 0s: until the lock is granted."},
		{"load", []string{"clients", "rate", "fair", "reenters"},
			"The busiest lock: how many clients wait at once, how many grants per second are required, must it be fair, and must it be re-entrant?",
			"locks differ most if many clients want the same one.",
			"Two numbers and two answers of yes or no, such as 16 50 no no. 0 grants per second: no minimum."},
		{"stores", []string{"stores"},
			"Which stores do you run?",
			"to run another store costs more than its locks are worth.",
			"redis is a single server, redis@replica one with a replica, redis@five five servers for Redlock. Name all of them."},
		{"survives_store", []string{"survives_store"},
			"Which events of the store must not lead to two holders: restart, failover, clock, eviction, or none?",
			"a store that forgets a lock grants it again.",
			"restart: it comes back with the data on its disk. failover: a replica takes over. clock: its clock jumps. eviction: it drops keys because its memory is full. " +
				"none: you stop the work by other means."},
		{"languages", []string{"languages"},
			"Which languages do the clients use, or any?",
			"a lock library serves one language only.",
			"Lower case, such as go java python. any: you write the lock yourself if there is no library."},
		{"weights", []string{"weights"},
			"What matters most among locks that meet all requirements: a weight from 0 to 10 for goodput, acquire, wait, fairness, recovery, commands?",
			"weights rank the locks that meet all requirements, and never outweigh a requirement.",
			"Pairs of a name and a weight, such as goodput 2 recovery 0. A criterion that you leave out has weight 1."},
		{"name", []string{"name", "guards"},
			"What is the name of the decision, in one word, and what does the lock guard, in a few?",
			"the report shows both, and its folder has the name.",
			"Such as: inventory the stock of products. The name consists of lower-case letters, digits and dashes."},
	}
}

const (
	shortest      = time.Microsecond
	longestHold   = 24 * time.Hour
	longestPause  = time.Hour
	leastRecovery = 100 * time.Millisecond
)

// Table returns the keys of a requirements file. The documentation and the schema are made from it.
func Table() []yamlfile.Key { return keys(new(selection.Needs), Known{}) }

func keys(n *selection.Needs, k Known) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "name", Into: &n.Name, Form: yamlfile.Name, Required: true, Doc: "name of the decision"},
		{Name: "guards", Into: &n.Guards, Form: yamlfile.Text, Doc: "the guarded resource, for readers"},
		{Name: "if_two_hold", Into: &n.TwoHold, Form: yamlfile.Choice, Required: true, Values: []string{string(selection.Corruption), string(selection.WastedWork)},
			Doc: "damage if two clients hold the lock at once: `corruption` (wrong data, money, stock) must not happen, `wasted-work` only costs time"},
		{Name: "instead", Into: &n.Instead, Form: yamlfile.Choice, List: true, Empty: true, Values: []string{string(selection.Idempotent), string(selection.Compare), string(selection.Row)},
			Doc: "possible replacements of the lock: `idempotent` (a repetition changes nothing), `compare-and-set` (a unique constraint, a version, a conditional write), `database-row` (all guarded data is changed in one transaction of one database)"},
		{Name: "checks_fence", Into: &n.Fence, Form: yamlfile.Choice, Values: []string{string(selection.NoCheck), string(selection.OnWrites), string(selection.OnAll)}, Normally: "nothing",
			Doc: "operations that the guarded resource refuses if their fencing token is lower than an earlier one"},
		{Name: "hold", Into: &n.Hold, Form: yamlfile.Mapping, Of: func(into any) []yamlfile.Key { return holdKeys(into.(*selection.Times)) }, Normally: "see below", Doc: "duration of the work under the lock"},
		{Name: "pauses", Into: &n.Pauses, Form: yamlfile.Mapping, Of: func(into any) []yamlfile.Key { return pauseKeys(into.(*selection.Pauses)) }, Normally: "see below", Doc: "pauses of a process: garbage collection, a busy host, a migrated machine"},
		{Name: "recovery_within", Into: &n.Recovery, Form: yamlfile.Span, To: 24 * time.Hour, Normally: "30s", Doc: "longest time from the death of a holder to the next grant, at least 100ms; 0s: no limit"},
		{Name: "clients", Into: &n.Clients, Form: yamlfile.Whole, Min: 1, Top: 10000, Normally: "16", Doc: "clients that want the busiest lock at once"},
		{Name: "rate", Into: &n.Rate, Form: yamlfile.Number, Max: 1e6, Normally: "0", Doc: "required grants per second of the busiest lock; 0: no minimum"},
		{Name: "wait", Into: &n.Wait, Form: yamlfile.Span, To: 24 * time.Hour, Normally: "0s", Doc: "longest time that a client waits for the lock; 0s: no limit"},
		{Name: "fair", Into: &n.Fair, Form: yamlfile.Flag, Normally: "false", Doc: "whether the lock must be fair: the least served client gets at least half as many grants as the most served one"},
		{Name: "commands", Into: &n.Commands, Form: yamlfile.Number, Max: 1e6, Normally: "0", Doc: "most commands of the store for each grant; 0: no limit"},
		{Name: "reenters", Into: &n.Reenters, Form: yamlfile.Flag, Normally: "false", Doc: "whether the lock must be re-entrant"},
		restrictValues(k.Languages, yamlfile.Key{Name: "languages", Into: &n.Language, Form: yamlfile.Text, Check: named, List: true, Empty: true, Normally: "any",
			Doc: "languages of the clients"}),
		restrictValues(k.Stores, yamlfile.Key{Name: "stores", Into: &n.Stores, Form: yamlfile.Placed, List: true, Normally: "redis",
			Doc: "stores that you run: `redis`, `redis@replica`, `postgres` and so on"}),
		{Name: "survives_store", Into: &n.Survives, Form: yamlfile.Choice, List: true, Empty: true, Normally: "restart, if `if_two_hold` is `corruption`",
			Values: []string{string(selection.Restart), string(selection.Failover), string(selection.Clock), string(selection.Eviction)},
			Doc:    "events of the store that must not lead to two holders: `restart` (with the data on its disk), `failover` (a replica takes over), `clock` (its clock jumps), `eviction` (it drops keys because its memory is full); `[]`: none"},
		{Name: "weights", Into: &n.Weights, Form: yamlfile.Mapping, Of: func(into any) []yamlfile.Key { return weightKeys(into.(*map[string]float64)) }, Normally: "see below", Doc: "weights of the criteria by which candidates that meet all requirements are compared"},
	}
}

func holdKeys(t *selection.Times) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "p50", Into: &t.P50, Form: yamlfile.Span, From: shortest, To: longestHold, Normally: "5ms, or a tenth of `p99`", Doc: "half of the holds take at most this long"},
		{Name: "p99", Into: &t.P99, Form: yamlfile.Span, From: shortest, To: longestHold, Normally: "10 x `p50`", Doc: "99 of 100 take at most this long"},
		{Name: "max", Into: &t.Max, Form: yamlfile.Span, From: shortest, To: longestHold, Normally: "10 x `p99`", Doc: "the longest hold"},
	}
}

func pauseKeys(p *selection.Pauses) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "per_hour", Into: &p.PerHour, Form: yamlfile.Number, Max: 1e5, Normally: "60, or fewer if 60 do not fit into an hour", Doc: "pauses of one process per hour; 0: none"},
		{Name: "p50", Into: &p.P50, Form: yamlfile.Span, From: shortest, To: longestPause, Normally: "10ms, or a tenth of `p99`", Doc: "half of the pauses take at most this long"},
		{Name: "p99", Into: &p.P99, Form: yamlfile.Span, From: shortest, To: longestPause, Normally: "10 x `p50`", Doc: "99 of 100 take at most this long"},
		{Name: "longest", Into: &p.Longest, Form: yamlfile.Span, From: shortest, To: longestPause, Normally: "5 x `p99`", Doc: "the longest pause that was ever observed"},
	}
}

// weightKeys returns one key for the weight of each criterion.
func weightKeys(weights *map[string]float64) []yamlfile.Key {
	key := func(name, doc string) yamlfile.Key {
		return yamlfile.Key{Name: name, Into: &weight{weights, name}, Form: yamlfile.Number, Max: 10, Normally: "1", Doc: doc}
	}
	return []yamlfile.Key{
		key("goodput", "critical sections per second, if many clients want the same lock"),
		key("acquire", "time to be granted a free lock"),
		key("wait", "the longest wait of a client, if many want the same lock"),
		key("fairness", "grants of the least served client, divided by those of the most served one"),
		key("recovery", "time from the death of a holder to the next grant"),
		key("commands", "commands of the store for each grant"),
	}
}

// weight reads and writes the weight of one criterion as text. If no weight is set, it is 1.
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

// restrictValues restricts the values of a requirements key to the known names. If known is nil, every name is valid.
func restrictValues(known []string, k yamlfile.Key) yamlfile.Key {
	if known != nil {
		k.Form, k.Values = yamlfile.Choice, known
	}
	return k
}

// named rejects an empty language name. Any characters are valid, as in C++ and C#.
func named(into any) error {
	if *into.(*string) == "" {
		return errors.New("a name is empty")
	}
	return nil
}

// Write returns a requirements file for the user to edit. Default values are commented out, so that they still count as
// defaults when the file is read.
func Write(n selection.Needs) []byte {
	var b bytes.Buffer
	b.WriteString("# Requirements for lockbench advise (docs/selection.md).\n" +
		"# A value after # was not stated and is a default. Remove the # to state it.\n")
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

// writeMapping writes a YAML mapping. If no value in the mapping was stated, the whole mapping is commented out.
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
