// Package histories is the record of what happened: operations go in as they are called and return,
// and come out, from a file, in the order in which they happened.
//
// A history is a header (which lock, which workload, what was claimed) followed by one line per
// operation and a mark at least every second; docs/reference/file-formats.md describes the file. The record
// is the only link between the half of lockbench that measures and the half that judges: everything
// a judge needs is in it.
package histories

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is what an operation does.
type Kind uint8

// The zero Kind is invalid, so that a forgotten one is noticed.
const (
	Acquire Kind = iota + 1 // ask for a lock
	Renew                   // extend a hold
	Release                 // give a hold up
	Lost                    // the lock told its client that a hold is gone
	Read                    // read what the lock guards
	Write                   // write what the lock guards
	Append                  // add to what the lock guards
	Probe                   // ask the store itself who holds the lock
	Inject                  // a fault begins
	Heal                    // a fault ends
)

var kindNames = [...]string{"", "acquire", "renew", "release", "lost", "read", "write", "append", "probe", "inject", "heal"}

func (k Kind) String() string { return NameOf(kindNames[:], int(k)) }

// MarshalText gives the name used in files.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText refuses what is not a kind.
func (k *Kind) UnmarshalText(text []byte) error {
	return Parse(k, kindNames[:], text, "kind")
}

// SelfStarted reports whether the lock or the harness begins such an operation, rather than the client whose number it bears.
// It may run beside that client's own operation, and only its return is an event of the history, except for an inject, which
// may affect its client from its call on.
func (k Kind) SelfStarted() bool { return k == Renew || k == Lost || k == Inject || k == Heal }

// Outcome is how an operation ended. The zero Outcome is the cautious one.
type Outcome uint8

const (
	Unknown Outcome = iota // it may or may not have taken effect
	OK                     // it took effect
	Refused                // it definitely did not: busy, not held, expired or stale
)

var outcomeNames = [...]string{"unknown", "ok", "refused"}

func (o Outcome) String() string { return NameOf(outcomeNames[:], int(o)) }

// MarshalText gives the name used in files.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText refuses what is not an outcome.
func (o *Outcome) UnmarshalText(text []byte) error {
	return Parse(o, outcomeNames[:], text, "outcome")
}

const (
	// Unbounded is the validity of a hold whose lock states no end for it.
	Unbounded time.Duration = -1
	// StillOpen is the Return of an operation that has not returned.
	StillOpen time.Duration = -1
	// Harness is the client number of what lockbench itself does: set-up writes, the final read, faults.
	Harness int32 = -1
)

// What the Value of a probe says of the key in the store.
const (
	ProbeFree  int64 = iota // nobody has it
	ProbeMine               // it bears this hold's token
	ProbeOther              // it bears another's
)

// Gone is the Value of an inject after whose call its client does nothing more: it was killed, or it abandons
// what it holds. Whatever it held ends there.
const Gone int64 = 1

// Op is one operation: one line of a history. Times are since the start of the history.
type Op struct {
	Client, Life int32 // Life rises after an indeterminate acquire or release; the pair is the judge's identity
	Hold         int64 // the acquire's number, shared by the renewals, release, loss, reads and writes of that hold
	Kind         Kind
	Outcome      Outcome
	Depth        uint16 // of re-entrant holds: 1 for the outermost, 0 where the lock does not count
	Key          string // what is exclusive: the segment, not the product; of a fault often none
	Fault        string // of an inject and its heal: the fault's name

	Due, Call, Return time.Duration // intended start, actual start, end (StillOpen)
	SentAfter         time.Duration // from Call to the sending of the attempt that won
	Validity          time.Duration // what was promised from then on; 0: unknown; Unbounded: no end was stated

	Fence, Value int64
	Error        string
}

// Open tells whether the operation has not returned.
func (o *Op) Open() bool { return o.Return < 0 }

// EndsClient tells whether an operation is a fault after which its client does nothing more.
func (o *Op) EndsClient() bool { return o.Kind == Inject && o.Value == Gone && o.Client != Harness }

// Stale reports whether what the lock guards refused the operation for its token.
func (o *Op) Stale() bool {
	return (o.Kind == Read || o.Kind == Write || o.Kind == Append) && o.Outcome == Refused && o.Error == "stale"
}

// Until returns the end of what a granted acquire or a confirmed renewal promised, less slack, the clock error allowed for.
// It is Forever for an unbounded promise; ok is false if none was stated.
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

// Result is what an operation returned, for Log.Return.
type Result struct {
	Outcome             Outcome
	Depth               uint16
	Key                 string // where the lock chose another key than was asked for (a segment)
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

// Parse sets a value of an enumeration (what is a noun, for errors) to the one that a text names, or else to zero.
func Parse[T ~uint8](into *T, names []string, text []byte, what string) error {
	if i := slices.Index(names, string(text)); i >= 0 && len(text) > 0 {
		*into = T(i)
		return nil
	}
	*into = 0
	named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
	return fmt.Errorf("unknown %s %q (one of %s)", what, text, strings.Join(named, ", "))
}

// Begin notes that a client begins something that is recorded only when it is over, such as an order of a shop, and returns
// the time. No mark is later than what has begun and was not told, so that a reader finds every operation above the marks
// that follow its return.
func (l *Log) Begin() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = l.stamp()
	return l.begun
}

// Tell records whole operations, none called before its Begin. Client and Life are filled in, and Due if it is zero. An
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
