// Package histories defines, records, writes and reads histories. Operations go in at their call and return and are written
// to a file; Replay returns them from the file in the order in which they happened.
//
// A history is a header (which lock, which workload, what is expected) followed by one line per operation and a mark at
// least every second; docs/reference/file-formats.md describes the file. The main types are Header, Op, Recorder and
// Reader. The file has everything that a judge needs: it is the only link between measuring and judging.
package histories

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is the type of an operation.
type Kind uint8

// The zero Kind is invalid, so that a missing one is detected.
const (
	Acquire Kind = iota + 1 // acquire a lock
	Renew                   // extend a hold
	Release                 // end a hold
	Lost                    // the lock reported a hold as lost
	Read                    // read the guarded resource
	Write                   // write the guarded resource
	Append                  // append to the guarded resource
	Probe                   // query the store for the holder
	Inject                  // a fault begins
	Heal                    // a fault ends
)

var kindNames = [...]string{"", "acquire", "renew", "release", "lost", "read", "write", "append", "probe", "inject", "heal"}

func (k Kind) String() string { return NameOf(kindNames[:], int(k)) }

func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (k *Kind) UnmarshalText(text []byte) error {
	return Parse(k, kindNames[:], text, "kind")
}

// SelfStarted reports whether the lock or the harness begins such an operation instead of the client. It may overlap
// an operation of that client. Only its return is an event of the history, except for an inject, which may affect its
// client from its call on.
func (k Kind) SelfStarted() bool { return k == Renew || k == Lost || k == Inject || k == Heal }

// Outcome is the result of an operation. The zero Outcome is the most cautious.
type Outcome uint8

const (
	Unknown Outcome = iota // it may or may not have taken effect
	OK                     // it took effect
	Refused                // it took no effect: busy, not held, expired or stale
)

var outcomeNames = [...]string{"unknown", "ok", "refused"}

func (o Outcome) String() string { return NameOf(outcomeNames[:], int(o)) }

func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

func (o *Outcome) UnmarshalText(text []byte) error {
	return Parse(o, outcomeNames[:], text, "outcome")
}

const (
	// Unbounded is the validity of a hold that does not expire.
	Unbounded time.Duration = -1
	// StillOpen is the Return of an operation that has not returned.
	StillOpen time.Duration = -1
	// Harness is the client number of lockbench's own operations: set-up writes, the final read, faults.
	Harness int32 = -1
)

// The values of a probe: the state of the key in the store.
const (
	ProbeFree  int64 = iota // the key is free
	ProbeMine               // the key has this hold's token
	ProbeOther              // the key has another token
)

// Gone is the Value of an inject that ends its client at its call: it was killed or abandons its hold.
const Gone int64 = 1

// Op is one operation: one line of a history. Times count from the start of the history.
type Op struct {
	Client, Life int32 // Life rises after an indeterminate acquire or release; the judge identifies a client by both
	Hold         int64 // number of the acquire, shared by all operations of its hold
	Kind         Kind
	Outcome      Outcome
	Depth        uint16 // depth of a re-entrant hold: 1 for the outermost, 0 if the lock does not count
	Key          string // the locked key: the segment and not the product; often empty for a fault
	Fault        string // name of the fault, of an inject and its heal

	Due, Call, Return time.Duration // intended start, actual start, end or StillOpen
	SentAfter         time.Duration // from Call to the request that was granted
	Validity          time.Duration // promised time from the request on; 0: unknown; or Unbounded

	Fence, Value int64
	Error        string
}

// Open reports whether the operation has not returned.
func (o *Op) Open() bool { return o.Return < 0 }

// EndsClient reports whether an operation is a fault that ends its client.
func (o *Op) EndsClient() bool { return o.Kind == Inject && o.Value == Gone && o.Client != Harness }

// Stale reports whether the resource refused the operation because of its token.
func (o *Op) Stale() bool {
	return (o.Kind == Read || o.Kind == Write || o.Kind == Append) && o.Outcome == Refused && o.Error == "stale"
}

// Until returns the end of the promise of a granted acquire or a confirmed renewal, less slack, the allowance for clock
// error. It is Forever for an unbounded promise; ok is false if no validity was stated.
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

// Result is the result of an operation, for Log.Return.
type Result struct {
	Outcome             Outcome
	Depth               uint16
	Key                 string // locked key, if the lock chose another one (a segment)
	SentAfter, Validity time.Duration
	Fence, Value        int64
	Error               string
}

// NameOf returns the name of an enumeration's value.
func NameOf(names []string, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return fmt.Sprintf("invalid(%d)", i)
}

// Parse sets *into to the value that text names, or to zero and returns an error. The noun what is for the error.
func Parse[T ~uint8](into *T, names []string, text []byte, what string) error {
	if i := slices.Index(names, string(text)); i >= 0 && len(text) > 0 {
		*into = T(i)
		return nil
	}
	*into = 0
	named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
	return fmt.Errorf("unknown %s %q (one of %s)", what, text, strings.Join(named, ", "))
}

// Begin announces operations that are recorded by Tell after their end, such as an order in a shop, and returns the time. No
// mark is later than a Begin without its Tell, so a reader finds each operation before the first mark after its return.
func (l *Log) Begin() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = l.stamp()
	return l.begun
}

// Tell records complete operations, none called before the Begin. It sets Client, Life, and Due if that is zero. An
// indeterminate acquire or release ends this life of the client.
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
