// Package scenarios lists scenarios. A scenario shows one known pitfall of distributed locks. Scenario.Cells returns the
// trials of a scenario. Some trials use locks that have the defect, others use locks that avoid it.
package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/workloads"
)

// Scenario describes one pitfall and the trials that show it.
type Scenario struct {
	Name    string
	Warning string // description of the pitfall in one line
	Doc     string // description in one paragraph
	Parts   []Part
}

// Part describes some trials of a scenario: several locks under the same fault and workload.
type Part struct {
	Locks    string // lock names separated by spaces; lock@deployment selects a deployment
	Fault    string // name of the fault; "": none
	Workload string // name of the workload; "": counter
}

// Cells returns the trial configurations of the scenario. It returns an error if a lock, fault or workload is unknown.
func (s Scenario) Cells() ([]trial.Cell, error) {
	var cells []trial.Cell
	for _, p := range s.Parts {
		for _, name := range strings.Fields(p.Locks) {
			c, err := p.cell(name)
			if err != nil {
				return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
			}
			c.Scenario = s.Name
			cells = append(cells, c)
		}
	}
	return cells, nil
}

func (p Part) cell(lock string) (c trial.Cell, err error) {
	lock, c.Deployment, _ = strings.Cut(lock, "@")
	if c.Lock, err = named(catalog.All(), lock, func(l impls.Impl) string { return l.Name }); err != nil {
		return c, err
	}
	if c.Fault, err = named(faults.All(), cmp.Or(p.Fault, "none"), func(f faults.Fault) string { return f.Name }); err != nil {
		return c, err
	}
	c.Workload, err = named(workloads.All(), cmp.Or(p.Workload, "counter"), func(w workloads.Workload) string { return w.Name })
	return c, err
}

func named[T any](all []T, name string, nameOf func(T) string) (T, error) {
	i := slices.IndexFunc(all, func(t T) bool { return nameOf(t) == name })
	if i < 0 {
		var zero T
		return zero, fmt.Errorf("unknown name %q", name)
	}
	return all[i], nil
}

// All returns every scenario.
func All() []Scenario {
	return slices.Concat(ofAlgorithms, ofClients, ofPauses, ofNetworks, ofServers, ofStores, ofSessions, ofTime)
}

// ofAlgorithms lists the scenarios that need no fault, because they show defects in a lock's algorithm.
var ofAlgorithms = []Scenario{
	{
		Name:    "mutex-in-each-process",
		Warning: "a mutex in the program guards one process; the service runs as several",
		Doc: "Eight clients in two processes read a counter, work, and write it back. A mutex of the language excludes the clients " +
			"of one process and not those of the other, so that updates are lost.",
		Parts: []Part{{Locks: "none local-mutex set-px-lua"}},
	},
	{
		Name:    "inner-release-frees",
		Warning: "a lock that says \"already mine\" and does not count is gone after the inner unlock",
		Doc: "A client takes the lock, calls something that takes it again and releases it, and works on. With a flag instead of a " +
			"count the inner release frees the key, and two clients hold the lock at once.",
		Parts: []Part{{Locks: "reentrant-flag reentrant-count-fixed redisson", Workload: "reentrant"}},
	},
	{
		Name:    "count-off-by-one",
		Warning: "a count in the thread must be raised before it is looked at: count++ returns the old value",
		Doc: "The article's lock with a count stores what `count++` returns, which is the value before. The depth never rises, and " +
			"the inner release counts as the last.",
		Parts: []Part{{Locks: "reentrant-count reentrant-count-fixed", Workload: "reentrant"}},
	},
	{
		Name:    "release-reports-success",
		Warning: "a release that finds nothing to release must report it",
		Doc: "A lease expires, and its holder releases afterwards. The older scripts of Redisson publish and return 1 although the " +
			"key is gone, so that the client does not learn that it worked without the lock.",
		Parts: []Part{{Locks: "redisson-legacy redisson set-px-lua", Workload: "misuse"}},
	},
}

// ofClients lists the scenarios in which a client is late or is killed.
var ofClients = []Scenario{
	{
		Name:    "crashed-holder-blocks",
		Warning: "without an expiry, a holder that dies blocks all clients forever",
		Doc: "The process of a holder is killed. A key with a lease becomes free when that ends; a key without one never does, and a " +
			"finally block does not run in a process that is gone.",
		Parts: []Part{{Locks: "setnx set-px-lua redisson redlock fenced", Fault: "holder-kill"}},
	},
	{
		Name:    "crash-between-setnx-and-expire",
		Warning: "SETNX and EXPIRE are two commands; a client that dies between them blocks the lock forever",
		Doc:     "The process is killed when the server has executed its SETNX and has not seen its PEXPIRE. The key has no expiry.",
		Parts:   []Part{{Locks: "setnx-expire", Fault: "kill-between"}},
	},
	{
		Name:    "expired-holder-deletes",
		Warning: "a holder whose lease has expired deletes the next holder's lock",
		Doc: "A works for longer than its lease. B is granted the lock. A then sends DEL, which does not check the owner, and C is " +
			"granted the lock while B holds it. If the release compares a token, B keeps its lock.",
		Parts: []Part{{Locks: "set-px setnx-expire set-px-getdel set-px-lua setnx", Fault: "holder-stall"}},
	},
	{
		Name:    "token-in-a-shared-field",
		Warning: "the token belongs to the hold, not to the lock object that threads share",
		Doc: "A and B use one lock object, which keeps its token in a field. A is late, B is granted the lock and has overwritten " +
			"the field; A releases with B's token, and C is granted the lock while B holds it.",
		Parts: []Part{{Locks: "shared-token set-px-getdel", Fault: "holder-stall"}},
	},
	{
		Name:    "work-outlasts-the-lease",
		Warning: "a lease that is not renewed may expire before the work is done",
		Doc: "A works for one and a half times its lease, in a healthy process. A watchdog renews the lease meanwhile; a lock with " +
			"an explicit lease is granted to B while A still works, and A's write undoes B's.",
		Parts: []Part{{Locks: "redisson-lease redlock redisson fenced", Fault: "holder-stall"}},
	},
}

// ofPauses lists the scenarios in which a process is paused or a client goes away.
var ofPauses = []Scenario{
	{
		Name:    "gc-pause",
		Warning: "a process can be paused for longer than any lease without noticing",
		Doc: "The process of a holder is paused for one and a half times its lease, and its watchdog with it. No lease helps; the " +
			"guarded resource can refuse the late write if every grant has a higher fencing token than the one before.",
		Parts: []Part{{Locks: "set-px-lua redisson redisson-lease redlock fenced setnx set-ifeq", Fault: "process-pause"}},
	},
	{
		Name:    "fence-on-write-only",
		Warning: "a fencing token must be checked when something is read, too",
		Doc: "A reads and is paused. B, with a higher token, reads. A resumes and writes: if reads do not record the token, A's " +
			"token is still the highest written one, so A's write is accepted, and B overwrites it with a value based on its old " +
			"read.",
		Parts: []Part{{Locks: "fenced", Fault: "process-pause", Workload: "write-fenced"}},
	},
	{
		Name:    "grant-read-too-late",
		Warning: "check the time when the answer is read: the lease began when the request was sent",
		Doc: "The process is paused while the server answers its acquire, and reads \"granted\" when the lease has expired and B has " +
			"the lock. RedLock subtracts the time since its request, and releases a lease that has no time left.",
		Parts: []Part{{Locks: "set-px-lua redlock", Fault: "pause-before-answer"}},
	},
	{
		Name:    "old-owner-renews",
		Warning: "a renewal that does not check the owner extends another client's lease",
		Doc: "A's process is paused beyond the lease, and B is granted the lock. A resumes, and so does its renewal, with a plain " +
			"PEXPIRE of the key that is B's by then. A renewal that compares the token is refused, and A learns of its loss.",
		Parts: []Part{{Locks: "blind-renewal", Fault: "process-pause"}},
	},
	{
		Name:    "abandoned-and-renewed-for-ever",
		Warning: "a watchdog that lives as long as its process renews a lock that is never released",
		Doc: "A client goes away without releasing: an exception, an early return. Its process lives on, and so does the watchdog " +
			"that renews the lease. A lease without a watchdog expires.",
		Parts: []Part{{Locks: "blind-renewal redisson fenced set-px-lua redisson-lease set-ifeq ifeq-drops-expiry", Fault: "holder-abandon"}},
	},
	{
		Name:    "caller-gives-up",
		Warning: "a call that timed out may have acquired the lock",
		Doc:     "A client cancels its acquire while the reply is on its way. The key is set. It must expire, or the lock itself must release it.",
		Parts:   []Part{{Locks: "setnx set-px-lua redisson redlock fenced", Fault: "cancelled-acquire"}},
	},
}
