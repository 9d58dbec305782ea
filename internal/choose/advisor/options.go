// Package advisor prepares and verifies a recommendation of a lock. Options returns the candidates for the requirements of a
// team. Stages returns the cells to test, and Suite the benchmark to run. Verify checks the evidence of a report. Package
// decision makes the decision.
package advisor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/samber/lo"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/measure/suites"
	"lockbench/reports/figures"
	"lockbench/reports/selection"
)

// candidate describes a lock that can be recommended: the kind of lease, and the languages in which the lock is available.
type candidate struct {
	lock      string // name of the lock, optionally with a deployment: lock@deployment
	lease     selection.Lease
	languages map[string]string
}

var table = sync.OnceValue(catalog.All)

// anywhere returns the map of supported languages for a lock that is easy to implement in any programming language. Its only
// key is "any", and the value describes what must be implemented.
func anywhere(what string) map[string]string { return map[string]string{"any": what} }

// choices returns the locks to choose from in display order. It omits locks that only demonstrate a defect.
func choices() []candidate {
	const (
		commands = "a few commands, with any client of Redis"
		scripts  = "three scripts, with any client of Redis (impls/redis/lua)"
		sql      = "a few statements, with any client of the database"
	)
	return []candidate{
		{"setnx", selection.NoLease, anywhere(commands)},
		{"set-px", selection.Fixed, anywhere(commands)},
		{"set-px-lua", selection.Fixed, anywhere("a command and a script, with any client of Redis")},
		{"set-px-lua@cluster", selection.Fixed, anywhere("a command and a script, with any client of Redis")},
		{"set-px-wait", selection.Fixed, anywhere("two commands and a script, with any client of Redis")},
		{"redisson", selection.Renewed, map[string]string{"java": "Redisson", "any": scripts}},
		{"redisson@cluster", selection.Renewed, map[string]string{"java": "Redisson", "any": scripts}},
		{"redlock", selection.Fixed, map[string]string{"go": "go-redsync/redsync", "node": "node-redlock", "python": "pottery", "any": "a command and a script for each of five servers"}},
		{"fenced", selection.Renewed, anywhere(scripts)},
		{"redsync", selection.Fixed, map[string]string{"go": "go-redsync/redsync v4"}},
		{"redsync-tuned", selection.Fixed, map[string]string{"go": "go-redsync/redsync v4"}},
		{"redislock", selection.Fixed, map[string]string{"go": "bsm/redislock"}},
		{"redislock-tuned", selection.Fixed, map[string]string{"go": "bsm/redislock"}},
		{"rueidislock", selection.Renewed, map[string]string{"go": "redis/rueidis, rueidislock"}},
		{"rueidislock-tuned", selection.Renewed, map[string]string{"go": "redis/rueidis, rueidislock"}},
		{"mysql-row-ttl", selection.Fixed, anywhere(sql)},
		{"mysql-getlock", selection.Connection, anywhere(sql)},
		{"postgres-advisory", selection.Connection, anywhere(sql)},
		{"mongodb", selection.Fixed, anywhere("one command, with any client of MongoDB")},
		{"ferretdb", selection.Fixed, anywhere("one command, with any client of MongoDB")},
		{"zookeeper", selection.Renewed, map[string]string{"java": "Apache Curator, InterProcessMutex", "go": "go-zookeeper/zk", "python": "kazoo"}},
		{"zk-lock", selection.Renewed, map[string]string{"go": "go-zookeeper/zk, Lock"}},
		{"etcd", selection.Renewed, map[string]string{"go": "etcd's client", "java": "jetcd", "python": "etcd3"}},
		{"etcd-concurrency", selection.Renewed, map[string]string{"go": "etcd's client/v3/concurrency, Mutex"}},
	}
}

// Options returns the candidates for a team: first the alternatives to a lock, then the locks on the team's stores.
func Options(n selection.Needs) []selection.Option {
	all := []selection.Option{
		{Name: string(selection.Idempotent), Kind: selection.NoLock, Doc: "make the operation idempotent, so that a repetition changes nothing"},
		{Name: string(selection.Compare), Kind: selection.NoLock, Doc: "a unique constraint, a version column or a conditional write, which refuses the second of two writes"},
		{Name: string(selection.Row), Kind: selection.NoLock, Doc: "SELECT ... FOR UPDATE, in the transaction that changes the data"},
	}
	for _, k := range choices() {
		impl, on := k.in(table())
		_, _, placed := strings.Cut(k.lock, "@") // a candidate lock@deployment is included only if the team runs this deployment
		if lo.ContainsBy(n.Stores, func(s string) bool { return strings.HasPrefix(s+"@", impl.Store+"@") }) &&
			(!placed || lo.ContainsBy(n.Stores, func(s string) bool { return strings.HasSuffix(s, "@"+on) })) {
			all = append(all, k.option(impl, on))
		}
	}
	return all
}

func (k candidate) in(table []impls.Impl) (impls.Impl, string) {
	name, on, _ := strings.Cut(k.lock, "@")
	i, found := lo.Find(table, func(i impls.Impl) bool { return i.Name == name })
	if !found {
		panic("unknown lock: " + name)
	}
	return i, cmp.Or(on, i.Deployment)
}

func (k candidate) option(i impls.Impl, on string) selection.Option {
	return selection.Option{Name: k.lock, Kind: selection.ALock, Doc: i.Doc, Store: i.Store, Deployment: on, Lease: k.lease,
		Reentrant: i.Reentrant, Fences: i.Fences, Languages: k.languages, ShortestNS: int64(i.Shortest), BackOffNS: int64(i.BackOff),
		Expectations: lo.FilterMap(i.Expect, func(e impls.Expectation, _ int) (selection.Expectation, bool) {
			return selection.Expectation{Property: e.Property, Workload: e.Workload, Fault: e.Fault, Deployment: e.Deployment, Because: e.Because},
				e.Expected == histories.ToBeViolated
		})}
}

// Stores returns the stores of all known locks, each as store or store@deployment.
func Stores() []string {
	return lo.Uniq(lo.FlatMap(choices(), func(k candidate, _ int) []string {
		impl, on := k.in(table())
		places := []string{impl.Store}
		if on != "single" && on != "three" {
			places = append(places, impl.Store+"@"+on)
		}
		if impl.Store == "redis" {
			places = append(places, "redis@replica", "redis@sentinel")
		}
		return places
	}))
}

// Languages returns the known languages.
func Languages() []string {
	all := lo.FlatMap(choices(), func(k candidate, _ int) []string { return lo.Keys(k.languages) })
	all = lo.Without(lo.Uniq(append(all, "c#", "javascript", "php", "ruby", "rust")), "any")
	slices.Sort(all)
	return all
}

// Limits of the benchmark. Beyond these limits, trials take longer but give no further information about a lock.
const (
	longestHold = 5 * time.Millisecond
	mostClients = 64
	fewestTurns = 8 // minimum number of critical sections of each client in a trial
)

// Suite returns a benchmark suite that measures the candidates twice: with one key for all clients, and with one key per
// client.
func Suite(n selection.Needs, options []selection.Option) suites.Suite {
	locks := lo.FilterMap(options, func(o selection.Option, _ int) (suites.Lock, bool) {
		name, on, _ := strings.Cut(o.Name, "@")
		return suites.Lock{Name: name, Deployment: on}, o.Kind == selection.ALock
	})
	clients := min(max(n.Clients, 2), mostClients)
	return suites.Suite{
		Name: "advice", Doc: "the criteria of the selection report, under the conditions of the requirements",
		Trials: 8, MaxTrials: 8, Narrow: 0.05, Budget: 80 * time.Second, Seed: 1,
		Sections: []suites.Section{
			{Name: "apart", Locks: locks, Clients: []int{min(clients, 16)}, Keys: []suites.Keys{suites.OneEach}, Duration: 200 * time.Millisecond},
			{Name: "together", Locks: locks, Clients: []int{clients}, Hold: []time.Duration{min(n.Hold.P50, longestHold)}, Rounds: fewestTurns, Duration: 250 * time.Millisecond},
		},
	}.Filled()
}

// RecordedHold returns the distribution of hold durations in history files, and a text that describes the source of the
// files.
func RecordedHold(files ...string) (selection.Times, string, error) {
	all := figures.NewSamples()
	for _, file := range files {
		r, err := histories.Open(file)
		if err != nil {
			return selection.Times{}, "", err
		}
		stats, err := figures.Of(&r.Header, r.Next, figures.Window{})
		r.Close()
		if err != nil {
			return selection.Times{}, "", fmt.Errorf("%s: %w", file, err)
		}
		all.Merge(&stats.Samples)
	}
	h := all[figures.HoldTimes]
	if h.TotalCount() == 0 {
		return selection.Times{}, "", errors.New("no hold in the histories ended, so that the duration of the work is unknown")
	}
	at := func(percentile float64) time.Duration { return time.Duration(h.ValueAtPercentile(percentile)) }
	return selection.Times{P50: at(50), P99: at(99), Max: time.Duration(h.Max())},
		fmt.Sprintf("read from %d holds in %d recorded histories", h.TotalCount(), len(files)), nil
}
