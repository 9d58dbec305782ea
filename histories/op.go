// Package histories records, writes and reads histories. A Recorder records the call and the return of each operation
// to a file. Replay reads the events back in order of time.
//
// A history consists of a header (lock, workload, expectations) and one line per operation. At least once a second, it
// also has a mark. A mark is a line with a time, and the file is complete up to that time. The format is described in
// docs/reference/file-formats.md.
//
// The main types are Header, Op, Recorder and Reader.
package histories

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind states what an operation does, such as acquire or release a lock.
type Kind uint8

// The zero Kind is invalid, so that a missing kind is detected.
const (
	Acquire Kind = iota + 1 // request the lock; the outcome states whether it was granted
	Renew                   // renew the lease of a hold
	Release                 // end a hold; refused if the store no longer has the hold
	Lost                    // the lock reports that a hold was lost
	Read                    // read the guarded resource
	Write                   // write the guarded resource
	Append                  // append to the guarded resource
	Probe                   // ask the store which client holds the key
	Inject                  // a fault begins
	Heal                    // a fault ends
	Seen                    // lockbench read the key directly from the servers; see the fields Depth, Validity, Fence and Value
)

var kindNames = [...]string{"", "acquire", "renew", "release", "lost", "read", "write", "append", "probe", "inject", "heal", "seen"}

func (k Kind) String() string { return NameOf(kindNames[:], int(k)) }

func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (k *Kind) UnmarshalText(text []byte) error {
	return Parse(k, kindNames[:], text, "kind")
}

// SelfStarted reports whether operations of this kind are started by the lock or by lockbench, not by the client. Such
// operations may overlap other operations of the client. For these operations, Replay delivers only the return. For the
// kind Inject, Replay delivers both the call and the return.
func (k Kind) SelfStarted() bool {
	return k == Renew || k == Lost || k == Inject || k == Heal || k == Seen
}

// Outcome is the result of an operation. The zero value is Unknown.
type Outcome uint8

const (
	Unknown Outcome = iota // the operation may or may not have taken effect
	OK                     // the operation took effect
	Refused                // the operation took no effect, for example because the key was busy or the lease had expired
)

var outcomeNames = [...]string{"unknown", "ok", "refused"}

func (o Outcome) String() string { return NameOf(outcomeNames[:], int(o)) }

func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

func (o *Outcome) UnmarshalText(text []byte) error {
	return Parse(o, outcomeNames[:], text, "outcome")
}

const (
	// Unbounded is the Validity of a granted lease that does not expire.
	Unbounded time.Duration = -1
	// Try and Unlimited are special values of Wait: an acquire that does not wait, and an acquire that waits until it
	// is cancelled.
	Try       time.Duration = -2
	Unlimited time.Duration = -1
	// StillOpen is the Return of an operation that has not returned.
	StillOpen time.Duration = -1
	// Harness is the client number of operations that lockbench itself performs. Such operations are initial writes,
	// final reads, and injections of faults that affect no particular client.
	Harness int32 = -1
)

// Results of a Probe operation.
const (
	ProbeFree  int64 = iota // the key is free
	ProbeMine               // the key belongs to the hold with the number Op.Hold
	ProbeOther              // the key belongs to another hold
)

// Sightings returns the number of Seen operations that together describe one observation of a key. These operations
// have the same call. There is one for each entry of the store that belongs to the key. If the store has no such entry,
// there is a single operation with Depth 0. In each operation, Depth is the number of entries and Fence identifies the
// entry within its key. Value is a hash of the entry's content. Validity is an upper bound of the entry's remaining
// lease.
func (o *Op) Sightings() int { return max(1, int(o.Depth)) }

// Cancelled is the Error of an acquire that was refused because its caller cancelled it.
const Cancelled = "cancelled"

// Panicked begins the Error of an operation whose lock panicked.
const Panicked = "panic"

// Told is the Value of a loss that the lock reported. Other losses are leases that the client itself let expire.
const Told int64 = 1

// Gone is the Value of a fault that ends its client: the client is killed or abandons its hold. The client counts as
// ended from the call of the fault.
const Gone int64 = 1

// Killed is like Gone, but the process of the client has ended. A client that is gone may have left an operation that its process
// continues.
const Killed int64 = 6

// Lossless is the Value of a client fault that loses no command, no reply and no data, such as a pause, a delay or the reset of idle
// connections.
const Lossless int64 = 2

// Delayed and Interrupted are like Lossless, but the client itself is not paused: the fault delays a message, or makes the client
// cancel an operation.
const (
	Delayed     int64 = 3
	Interrupted int64 = 4
)

// Working is like Lossless, but the client itself is not paused: it works under the lock for longer.
const Working int64 = 7

// Replicas is the Value of a fault that affects only replicas. The primary keeps its data.
const Replicas int64 = 5

// Op is an operation. All times are measured from the start of the history.
type Op struct {
	Client, Life int32 // Client and Life identify a client; Life increases after an acquire or release with an unknown outcome
	Hold         int64 // hold number: all operations of a hold have the number of its acquire
	Kind         Kind
	Outcome      Outcome
	Depth        uint16 // nesting depth of an acquire; 1 for the outermost, 0 if unknown
	Key          string // the locked key or segment; often empty for a fault
	Fault        string // name of the fault, if Kind is Inject or Heal

	Due, Call, Return time.Duration // intended start, actual start, and end or StillOpen
	Wait              time.Duration // timeout of an acquire, Try or Unlimited; 0 if not recorded
	SentAfter         time.Duration // time from Call until the successful request was sent to the store
	Validity          time.Duration // length of the lease, counted from Call plus SentAfter; Unbounded if it does not expire, 0 if unknown

	Fence, Value int64
	Error        string
}

// Open reports whether the operation has not returned.
func (o *Op) Open() bool { return o.Return < 0 }

// EndsClient reports whether the operation is a fault that ends its client.
func (o *Op) EndsClient() bool {
	return o.Kind == Inject && (o.Value == Gone || o.Value == Killed) && o.Client != Harness
}

// Stale reports whether the resource refused the operation because of an old fencing token.
func (o *Op) Stale() bool {
	return (o.Kind == Read || o.Kind == Write || o.Kind == Append) && o.Outcome == Refused && o.Error == "stale"
}

// Until returns the earliest end of the lease of an acquire or a renewal. slack is the allowance for clock error. The
// result is Forever if the lease does not expire. ok is false if the length of the lease is unknown.
func (o *Op) Until(slack time.Duration) (until time.Duration, ok bool) {
	switch {
	case o.Validity == Unbounded:
		return Forever, true
	case o.Validity <= 0:
		return 0, false
	}
	return o.Call + o.SentAfter + o.Validity - slack, true
}

// Forever is later than any time in a history.
const Forever = time.Duration(1<<62 - 1)

// Result holds the outcome of an operation, and the values that the operation returned. Log.Return records it.
type Result struct {
	Outcome             Outcome
	Depth               uint16
	Key                 string // the key that the lock chose, such as a segment; empty if it is the requested key
	SentAfter, Validity time.Duration
	Fence, Value        int64
	Error               string
}

// NameOf returns names[i], or "invalid(i)" if there is no such name.
func NameOf(names []string, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return fmt.Sprintf("invalid(%d)", i)
}

// Parse looks up text in the list names, and stores its index in *into. If the list does not contain the text, Parse
// stores 0 and returns an error. The error message names the kind of value, such as "outcome", from the parameter what.
func Parse[T ~uint8](into *T, names []string, text []byte, what string) error {
	if i := slices.Index(names, string(text)); i >= 0 && len(text) > 0 {
		*into = T(i)
		return nil
	}
	*into = 0
	named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
	return fmt.Errorf("unknown %s %q (one of %s)", what, text, strings.Join(named, ", "))
}

// Begin announces that the client will report operations later, with Tell. It returns the current time. Until Tell is
// called, no mark has a later time, because a mark states that the file is complete up to its time.
func (l *Log) Begin() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = l.stamp()
	return l.begun
}

// Tell records operations that have already returned. Their calls must be after Begin. Tell sets Client and Life, and
// also Due if it is zero.
func (l *Log) Tell(ops ...Op) {
	for i := range ops {
		l.lockWithRoom()
		op := ops[i]
		op.Client, op.Life = l.client, l.life
		if op.Due == 0 {
			op.Due = op.Call
		}
		if op.Outcome == Unknown && (op.Kind == Acquire || op.Kind == Release) {
			l.life++
		}
		l.last = max(l.last, op.Return)
		l.done = append(l.done, op)
		l.unlock()
	}
	l.mu.Lock()
	l.begun = 0
	l.mu.Unlock()
}
