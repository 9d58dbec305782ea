package requirements

import (
	"errors"
	"time"

	"go.yaml.in/yaml/v3"

	"lockbench/internal/keyed"
	"lockbench/reports/selection"
)

// Shorter times are nobody's needs: less than it takes to ask a store anything.
const (
	shortest      = time.Microsecond
	longestHold   = 24 * time.Hour
	longestPause  = time.Hour
	leastRecovery = 100 * time.Millisecond
)

func keys(k Known) []keyed.Key {
	return []keyed.Key{
		{Name: "name", Form: keyed.Name, Required: true, Doc: "what the decision is called"},
		{Name: "guards", Form: keyed.Text, Doc: "what is guarded, for people"},
		{Name: "if_two_hold", Form: keyed.Choice, Required: true, Values: []string{string(selection.Corruption), string(selection.WastedWork)},
			Doc: "what becomes of it if two hold at once: `corruption` (wrong data, money, stock) must not happen, `wasted-work` costs time and nothing else"},
		{Name: "instead", Form: keyed.Choice, List: true, Empty: true, Values: []string{string(selection.Idempotent), string(selection.Compare), string(selection.Row)},
			Doc: "what could decide it without a lock: `idempotent` (done twice, the second changes nothing), `compare-and-set` (a unique constraint, a version, a conditional write), `database-row` (all that is guarded is changed in one transaction of one database)"},
		{Name: "checks_fence", Form: keyed.Choice, Values: []string{string(selection.NoCheck), string(selection.OnWrites), string(selection.OnAll)}, Normally: "nothing",
			Doc: "which operations what is guarded refuses, if they come with a fencing token that is lower than one it has seen"},
		{Name: "hold", Form: keyed.Mapping, Of: holdKeys(), Normally: "see below", Doc: "how long the work under the lock takes"},
		{Name: "pauses", Form: keyed.Mapping, Of: pauseKeys(), Normally: "see below", Doc: "how a process stands still: collections, a busy host, a machine that is moved"},
		{Name: "recovery_within", Form: keyed.Span, To: 24 * time.Hour, Normally: "30s", Doc: "from the death of a holder to the next grant, 100ms at the least; 0s: whenever"},
		{Name: "clients", Form: keyed.Whole, Min: 1, Top: 10000, Normally: "16", Doc: "that want the busiest lock at once"},
		{Name: "rate", Form: keyed.Number, Max: 1e6, Normally: "0", Doc: "grants of the busiest lock that are wanted, per second; 0: as they come"},
		{Name: "wait", Form: keyed.Span, To: 24 * time.Hour, Normally: "0s", Doc: "how long a client waits to be granted; 0s: until it is"},
		{Name: "fair", Form: keyed.Flag, Normally: "false", Doc: "whether nobody may be passed over for long"},
		{Name: "commands", Form: keyed.Number, Max: 1e6, Normally: "0", Doc: "of the store, for each grant, at most; 0: any"},
		{Name: "reenters", Form: keyed.Flag, Normally: "false", Doc: "whether an owner asks again for what it holds"},
		languages(k),
		stores(k),
		{Name: "survives_store", Form: keyed.Choice, List: true, Empty: true, Normally: "restart, if two must not hold",
			Values: []string{string(selection.Restart), string(selection.Failover), string(selection.Clock), string(selection.Eviction)},
			Doc:    "what befalls a store and may not let two in: `restart` (with what it has on disk), `failover` (a replica takes over), `clock` (its clock jumps), `eviction` (it drops keys for want of memory); `[]`: nothing of it has to be survived"},
		{Name: "weights", Form: keyed.Mapping, Of: weightKeys(), Normally: "see below", Doc: "of what is compared, once all that is needed is met"},
	}
}

func holdKeys() []keyed.Key {
	return []keyed.Key{
		{Name: "p50", Form: keyed.Span, From: shortest, To: longestHold, Normally: "5ms, or a tenth of `p99`", Doc: "half of the holds are no longer"},
		{Name: "p99", Form: keyed.Span, From: shortest, To: longestHold, Normally: "10 x `p50`", Doc: "99 of 100 are no longer"},
		{Name: "max", Form: keyed.Span, From: shortest, To: longestHold, Normally: "10 x `p99`", Doc: "none is longer"},
	}
}

func pauseKeys() []keyed.Key {
	return []keyed.Key{
		{Name: "per_hour", Form: keyed.Number, Max: 1e5, Normally: "60, or as many as fit", Doc: "of one process; 0: it never stands still"},
		{Name: "p50", Form: keyed.Span, From: shortest, To: longestPause, Normally: "10ms, or a tenth of `p99`", Doc: "half of the pauses are no longer"},
		{Name: "p99", Form: keyed.Span, From: shortest, To: longestPause, Normally: "10 x `p50`", Doc: "99 of 100 are no longer"},
		{Name: "longest", Form: keyed.Span, From: shortest, To: longestPause, Normally: "5 x `p99`", Doc: "that was ever seen"},
	}
}

// weightKeys has one for each of advice.Criteria.
func weightKeys() []keyed.Key {
	var all []keyed.Key
	for _, c := range []struct{ name, doc string }{
		{"goodput", "work done per second, when many want the same lock"},
		{"acquire", "how long it takes to be granted a lock that nobody holds"},
		{"wait", "how long the unluckiest client waits, when many want the same lock"},
		{"fairness", "how evenly grants are shared out"},
		{"recovery", "how soon another is granted it when its holder has died"},
		{"commands", "how few commands each grant costs the store"},
	} {
		all = append(all, keyed.Key{Name: c.name, Form: keyed.Number, Max: 10, Normally: "1", Doc: c.doc})
	}
	return all
}

func languages(k Known) keyed.Key {
	key := keyed.Key{Name: "languages", Form: keyed.Text, Check: named, List: true, Empty: true, Normally: "any", Doc: "that its users are written in"}
	if k.Languages != nil {
		key.Form, key.Values = keyed.Choice, k.Languages
	}
	return key
}

// named refuses a language without a name. Which signs a name may have nobody knows: there is C++, and C#.
func named(n *yaml.Node) error {
	if n.Value == "" {
		return errors.New("one of them has no name")
	}
	return nil
}

func stores(k Known) keyed.Key {
	key := keyed.Key{Name: "stores", Form: keyed.Placed, List: true, Normally: "redis", Doc: "that are there and run by somebody: `redis`, `redis@replica`, `postgres` and so on"}
	if k.Stores != nil {
		key.Form, key.Values = keyed.Choice, k.Stores
	}
	return key
}
