// Package histories records, writes and reads histories. A Recorder records the call and the return of each operation to a
// file; Replay reads them back in the order in which they happened.
//
// A history is a header (lock, workload, expectations), followed by one line per operation and a mark at least every
// second; docs/reference/file-formats.md describes the file. A history file has everything that a judge needs. The main
// types are Header, Op, Recorder and Reader.
package histories

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is the kind of an operation.
type Kind uint8

// The zero Kind is invalid, so that a missing kind is detected.
const (
	Acquire Kind = iota + 1 // acquire a lock
	Renew                   // extend a hold
	Release                 // end a hold
	Lost                    // the lock reports that a hold was lost
	Read                    // read the guarded resource
	Write                   // write the guarded resource
	Append                  // append to the guarded resource
	Probe                   // ask the store which client holds the key
	Inject                  // a fault begins
	Heal                    // a fault ends
)

var kindNames = [...]string{"", "acquire", "renew", "release", "lost", "read", "write", "append", "probe", "inject", "heal"}

func (k Kind) String() string { return NameOf(kindNames[:], int(k)) }

func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (k *Kind) UnmarshalText(text []byte) error {
	return Parse(k, kindNames[:], text, "kind")
}

// SelfStarted reports whether operations of this kind are started by the lock or by lockbench, not by the client. Such an
// operation may overlap other operations of the client. Only its return is an event of the history, except that the call of
// an inject is an event too.
func (k Kind) SelfStarted() bool { return k == Renew || k == Lost || k == Inject || k == Heal }

// Outcome is the result of an operation. The zero value is Unknown.
type Outcome uint8

const (
	Unknown Outcome = iota // the operation may or may not have taken effect
	OK                     // the operation took effect
	Refused                // the operation took no effect: busy, not held, expired or stale
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
	// StillOpen is the Return of an operation that has not returned.
	StillOpen time.Duration = -1
	// Harness is the client number of operations by lockbench itself: initial writes, final reads and faults.
	Harness int32 = -1
)

// Results of a probe, which asks the store for the state of a key.
const (
	ProbeFree  int64 = iota // the key is free
	ProbeMine               // the key has this hold's token
	ProbeOther              // the key has another token
)

// Gone is the Value of an inject operation that ends its client when it is called, by killing the client or abandoning its
// hold.
const Gone int64 = 1

// Op is an operation, which is one line of a history. Times count from the start of the history.
type Op struct {
	Client, Life int32 // Life increases after an indeterminate acquire or release; Client and Life together identify a client
	Hold         int64 // number of the acquire; all operations of a hold have the same number
	Kind         Kind
	Outcome      Outcome
	Depth        uint16 // nesting depth of an acquire: 1 for the outermost, 0 if the lock does not count
	Key          string // the locked key; for a segmented lock, the segment; often empty for a fault
	Fault        string // name of the fault, for an inject or heal

	Due, Call, Return time.Duration // intended start, actual start, and end or StillOpen
	SentAfter         time.Duration // time from Call until the request that was granted was sent
	Validity          time.Duration // granted lease, counted from the request; 0: unknown; or Unbounded

	Fence, Value int64
	Error        string
}

// Open reports whether the operation has not returned.
func (o *Op) Open() bool { return o.Return < 0 }

// EndsClient reports whether the operation is a fault that ends its client.
func (o *Op) EndsClient() bool { return o.Kind == Inject && o.Value == Gone && o.Client != Harness }

// Stale reports whether the resource refused the operation because of its fencing token.
func (o *Op) Stale() bool {
	return (o.Kind == Read || o.Kind == Write || o.Kind == Append) && o.Outcome == Refused && o.Error == "stale"
}

// Until returns the end of the lease of a granted acquire or a confirmed renewal, minus slack, the allowance for clock
// error. It returns Forever for an unbounded lease. ok is false if the length of the lease is unknown.
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

// Result holds the result of an operation, to be passed to Log.Return.
type Result struct {
	Outcome             Outcome
	Depth               uint16
	Key                 string // the locked key, if the lock chose it: the segment of a segmented lock
	SentAfter, Validity time.Duration
	Fence, Value        int64
	Error               string
}

// NameOf returns the name of an enumeration value.
func NameOf(names []string, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return fmt.Sprintf("invalid(%d)", i)
}

// Parse sets *into to the enumeration value with the given name. If there is no such value, it sets *into to zero and
// returns an error, in which what describes the kind of value.
func Parse[T ~uint8](into *T, names []string, text []byte, what string) error {
	if i := slices.Index(names, string(text)); i >= 0 && len(text) > 0 {
		*into = T(i)
		return nil
	}
	*into = 0
	named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
	return fmt.Errorf("unknown %s %q (one of %s)", what, text, strings.Join(named, ", "))
}

// Begin announces operations that start from now on and will be recorded by Tell after they have returned. It returns the
// current time. Until Tell is called, the recorder writes no mark with a later time, so a reader gets each operation before
// the first mark after its return.
func (l *Log) Begin() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = l.stamp()
	return l.begun
}

// Tell records operations that have returned. They must have been called after Begin. Tell sets Client and Life, and sets
// Due to Call if Due is zero. An indeterminate acquire or release increases the Life of the client.
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
