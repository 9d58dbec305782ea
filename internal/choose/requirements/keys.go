package requirements

import (
	"errors"
	"strconv"
	"time"

	"lockbench/internal/choose/decision"
	"lockbench/internal/yamlfile"
)

// Shorter times are nobody's needs: less than it takes to ask a store anything.
const (
	shortest      = time.Microsecond
	longestHold   = 24 * time.Hour
	longestPause  = time.Hour
	leastRecovery = 100 * time.Millisecond
)

// Table returns the table of keys, for its documentation and schema.
func Table() []yamlfile.Key { return keys(new(decision.Needs), Known{}) }

func keys(n *decision.Needs, k Known) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "name", Into: &n.Name, Form: yamlfile.Name, Required: true, Doc: "what the decision is called"},
		{Name: "guards", Into: &n.Guards, Form: yamlfile.Text, Doc: "what is guarded, for people"},
		{Name: "if_two_hold", Into: &n.TwoHold, Form: yamlfile.Choice, Required: true, Values: []string{string(decision.Corruption), string(decision.WastedWork)},
			Doc: "what becomes of it if two hold at once: `corruption` (wrong data, money, stock) must not happen, `wasted-work` costs time and nothing else"},
		{Name: "instead", Into: &n.Instead, Form: yamlfile.Choice, List: true, Empty: true, Values: []string{string(decision.Idempotent), string(decision.Compare), string(decision.Row)},
			Doc: "what could decide it without a lock: `idempotent` (done twice, the second changes nothing), `compare-and-set` (a unique constraint, a version, a conditional write), `database-row` (all that is guarded is changed in one transaction of one database)"},
		{Name: "checks_fence", Into: &n.Fence, Form: yamlfile.Choice, Values: []string{string(decision.NoCheck), string(decision.OnWrites), string(decision.OnAll)}, Normally: "nothing",
			Doc: "which operations what is guarded refuses, if they come with a fencing token that is lower than one it has seen"},
		{Name: "hold", Into: &n.Hold, Form: yamlfile.Mapping, Of: func(into any) []yamlfile.Key { return holdKeys(into.(*decision.Times)) }, Normally: "see below", Doc: "how long the work under the lock takes"},
		{Name: "pauses", Into: &n.Pauses, Form: yamlfile.Mapping, Of: func(into any) []yamlfile.Key { return pauseKeys(into.(*decision.Pauses)) }, Normally: "see below", Doc: "how a process stands still: collections, a busy host, a machine that is moved"},
		{Name: "recovery_within", Into: &n.Recovery, Form: yamlfile.Span, To: 24 * time.Hour, Normally: "30s", Doc: "from the death of a holder to the next grant, 100ms at the least; 0s: whenever"},
		{Name: "clients", Into: &n.Clients, Form: yamlfile.Whole, Min: 1, Top: 10000, Normally: "16", Doc: "that want the busiest lock at once"},
		{Name: "rate", Into: &n.Rate, Form: yamlfile.Number, Max: 1e6, Normally: "0", Doc: "grants of the busiest lock that are wanted, per second; 0: as they come"},
		{Name: "wait", Into: &n.Wait, Form: yamlfile.Span, To: 24 * time.Hour, Normally: "0s", Doc: "how long a client waits to be granted; 0s: until it is"},
		{Name: "fair", Into: &n.Fair, Form: yamlfile.Flag, Normally: "false", Doc: "whether nobody may be passed over for long"},
		{Name: "commands", Into: &n.Commands, Form: yamlfile.Number, Max: 1e6, Normally: "0", Doc: "of the store, for each grant, at most; 0: any"},
		{Name: "reenters", Into: &n.Reenters, Form: yamlfile.Flag, Normally: "false", Doc: "whether an owner asks again for what it holds"},
		languages(&n.Language, k),
		stores(&n.Stores, k),
		{Name: "survives_store", Into: &n.Survives, Form: yamlfile.Choice, List: true, Empty: true, Normally: "restart, if two must not hold",
			Values: []string{string(decision.Restart), string(decision.Failover), string(decision.Clock), string(decision.Eviction)},
			Doc:    "what befalls a store and may not let two in: `restart` (with what it has on disk), `failover` (a replica takes over), `clock` (its clock jumps), `eviction` (it drops keys for want of memory); `[]`: nothing of it has to be survived"},
		{Name: "weights", Into: &n.Weights, Form: yamlfile.Mapping, Of: func(into any) []yamlfile.Key { return weightKeys(into.(*map[string]float64)) }, Normally: "see below", Doc: "of what is compared, once all that is needed is met"},
	}
}

func holdKeys(t *decision.Times) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "p50", Into: &t.P50, Form: yamlfile.Span, From: shortest, To: longestHold, Normally: "5ms, or a tenth of `p99`", Doc: "half of the holds are no longer"},
		{Name: "p99", Into: &t.P99, Form: yamlfile.Span, From: shortest, To: longestHold, Normally: "10 x `p50`", Doc: "99 of 100 are no longer"},
		{Name: "max", Into: &t.Max, Form: yamlfile.Span, From: shortest, To: longestHold, Normally: "10 x `p99`", Doc: "none is longer"},
	}
}

func pauseKeys(p *decision.Pauses) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "per_hour", Into: &p.PerHour, Form: yamlfile.Number, Max: 1e5, Normally: "60, or as many as fit", Doc: "of one process; 0: it never stands still"},
		{Name: "p50", Into: &p.P50, Form: yamlfile.Span, From: shortest, To: longestPause, Normally: "10ms, or a tenth of `p99`", Doc: "half of the pauses are no longer"},
		{Name: "p99", Into: &p.P99, Form: yamlfile.Span, From: shortest, To: longestPause, Normally: "10 x `p50`", Doc: "99 of 100 are no longer"},
		{Name: "longest", Into: &p.Longest, Form: yamlfile.Span, From: shortest, To: longestPause, Normally: "5 x `p99`", Doc: "that was ever seen"},
	}
}

// weightKeys has one for each of advice.Criteria.
func weightKeys(weights *map[string]float64) []yamlfile.Key {
	var all []yamlfile.Key
	for _, c := range []struct{ name, doc string }{
		{"goodput", "work done per second, when many want the same lock"},
		{"acquire", "how long it takes to be granted a lock that nobody holds"},
		{"wait", "how long the unluckiest client waits, when many want the same lock"},
		{"fairness", "how evenly grants are shared out"},
		{"recovery", "how soon another is granted it when its holder has died"},
		{"commands", "how few commands each grant costs the store"},
	} {
		all = append(all, yamlfile.Key{Name: c.name, Into: &weight{weights, c.name}, Form: yamlfile.Number, Max: 10, Normally: "1", Doc: c.doc})
	}
	return all
}

// weight is one of the weights; 1 if it is not among them.
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
	return []byte(yamlfile.Plainly(decision.Needs{Weights: *w.of}.Weight(w.name))), nil
}

func languages(into *[]string, k Known) yamlfile.Key {
	key := yamlfile.Key{Name: "languages", Into: into, Form: yamlfile.Text, Check: named, List: true, Empty: true, Normally: "any", Doc: "that its users are written in"}
	if k.Languages != nil {
		key.Form, key.Values = yamlfile.Choice, k.Languages
	}
	return key
}

// named refuses a language without a name. Which signs a name may have nobody knows: there is C++, and C#.
func named(into any) error {
	if *into.(*string) == "" {
		return errors.New("one of them has no name")
	}
	return nil
}

func stores(into *[]string, k Known) yamlfile.Key {
	key := yamlfile.Key{Name: "stores", Into: into, Form: yamlfile.Placed, List: true, Normally: "redis", Doc: "that are there and run by somebody: `redis`, `redis@replica`, `postgres` and so on"}
	if k.Stores != nil {
		key.Form, key.Values = yamlfile.Choice, k.Stores
	}
	return key
}
