package edn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"lockbench/histories"
)

// headerEntry is the value of the key :f in two entries: the header and the end of the history. Only lockbench writes
// these entries, not Jepsen.
const headerEntry = "lockbench"

// onlyKey is the key of operations that do not name a key, as in tests of a single lock.
const onlyKey = "lock"

// Names of processes that are not clients.
const (
	nemesis     = "nemesis"
	selfStarted = "lock" // process of the operations that the lock itself starts, such as automatic renewals
)

// entry is one map of a Jepsen history: the call or the return of an operation.
type entry struct {
	op      histories.Op // the operation; its Call and Return are valid only if the entry has the key :call
	kind    string       // the :type, such as "invoke"
	f       string
	process string // "nemesis" for a fault, "lock" for an operation that the lock started, or "" for a client
	line    int
	numbers map[string]int64 // values of the numeric fields
	keyed   bool             // the entry has a key
	ended   bool             // the entry has an :outcome
	value   *form
}

func (e *entry) who() string {
	if e.has(":client") {
		return fmt.Sprintf("client %d", e.op.Client)
	}
	return fmt.Sprintf("process %d", e.op.Client)
}

// parse parses the fields of an entry. It counts unknown fields but accepts them, because many Jepsen tests add fields.
func (h *history) parse(f *form) (*entry, error) {
	e := &entry{line: f.line, numbers: map[string]int64{}}
	seen := map[string]bool{}
	for i := 0; i < len(f.items); i += 2 {
		name := f.items[i].String()
		if seen[name] {
			return nil, fmt.Errorf("%s occurs twice", name)
		}
		seen[name] = true
		known, err := e.set(name, &f.items[i+1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if !known && (len(h.unknown) < 64 || h.unknown[name] > 0) {
			h.unknown[name]++
		}
	}
	for _, name := range []string{":process", ":type", ":f"} {
		if !seen[name] {
			return nil, fmt.Errorf("an operation needs a %s", name)
		}
	}
	if e.process != nemesis && seen[":fault"] { // only an entry of the nemesis names a fault; in other entries, :fault is a field that the Jepsen test added
		e.op.Fault = ""
		h.unknown[":fault"]++
	}
	return e, e.finish()
}

func (e *entry) finish() (err error) {
	if !e.has(":due") {
		e.op.Due = e.op.Call
	}
	if e.process == nemesis {
		e.op.Kind = histories.Inject
		for _, word := range []string{"stop", "heal", "resume", "reset"} { // prefixes of the :f value in Jepsen's entries for the end of a fault
			if strings.HasPrefix(e.f, word) {
				e.op.Kind = histories.Heal
			}
		}
		if !e.ended {
			e.op.Outcome = histories.OK
		}
		if !e.has(":client") {
			e.op.Client = histories.Harness
		}
		if e.f == headerEntry {
			return nil
		}
		return e.setValue()
	}
	if e.op.Kind, err = kindOf(e.f); err != nil {
		return err
	}
	if !e.keyed {
		e.op.Key = onlyKey
	}
	if !e.ended {
		e.op.Outcome = map[string]histories.Outcome{"ok": histories.OK, "fail": histories.Refused}[e.kind]
	}
	return e.setValue()
}

// set parses one field. It reports whether the field is known.
func (e *entry) set(name string, v *form) (known bool, err error) {
	op := &e.op
	switch name {
	case ":type":
		types := []string{"invoke", "ok", "fail", "info"}
		if e.kind = v.text; v.kind == whole || !slices.Contains(types, v.text) {
			err = fmt.Errorf("want one of :%s, got %.40s", strings.Join(types, " :"), v.String())
		}
	case ":f":
		e.f, err = v.name()
	case ":process":
		switch e.process, _ = v.name(); {
		case v.kind == whole && e.has(":client"): // the field :client states the client number
		case v.kind == whole:
			var n int64
			n, err = v.number(0, math.MaxInt32)
			op.Client = int32(n)
		case e.process != nemesis && e.process != selfStarted:
			err = fmt.Errorf("want a whole number or :nemesis, got %.40s", v.String())
		}
	case ":value":
		e.value = v
	case ":key":
		op.Key, err = keyOf(v)
		e.keyed = true
	case ":fault":
		if op.Fault = v.String(); v.isNil() {
			op.Fault = ""
		}
	case ":error":
		if op.Error = v.String(); v.isNil() {
			op.Error = ""
		}
	case ":outcome":
		err = op.Outcome.UnmarshalText([]byte(v.text))
		e.ended = true
	default:
		return e.setNumber(name, v)
	}
	return true, err
}

// number describes a numeric field and its range.
type number struct {
	low, high int64
	set       func(op *histories.Op, n int64)
	ofEnd     bool // whether the entry for the return of an operation may also have this field
}

const (
	longest = int64(histories.Forever) - 1 // longest duration in a history, in nanoseconds
	any64   = math.MinInt64
)

var numbers = map[string]number{
	":time":       {0, longest, func(*histories.Op, int64) {}, false},
	":index":      {0, longest, func(*histories.Op, int64) {}, false},
	":client":     {int64(histories.Harness), math.MaxInt32, func(op *histories.Op, n int64) { op.Client = int32(n) }, false},
	":life":       {0, math.MaxInt32, func(op *histories.Op, n int64) { op.Life = int32(n) }, false},
	":hold":       {0, math.MaxInt64, func(op *histories.Op, n int64) { op.Hold = n }, true},
	":depth":      {0, math.MaxUint16, func(op *histories.Op, n int64) { op.Depth = uint16(n) }, true},
	":fence":      {any64, math.MaxInt64, func(op *histories.Op, n int64) { op.Fence = n }, true},
	":due":        {0, longest, func(op *histories.Op, n int64) { op.Due = time.Duration(n) }, false},
	":call":       {0, longest, func(op *histories.Op, n int64) { op.Call = time.Duration(n) }, false},
	":return":     {0, longest, func(op *histories.Op, n int64) { op.Return = time.Duration(n) }, false}, // time at which a loss was reported, if later than the time of the entry
	":sent-after": {0, longest, func(op *histories.Op, n int64) { op.SentAfter = time.Duration(n) }, true},
	":wait":       {0, longest, func(op *histories.Op, n int64) { op.Wait = time.Duration(n) }, false},
	":validity":   {0, longest, func(op *histories.Op, n int64) { op.Validity = time.Duration(n) }, true},
	":value":      {any64, math.MaxInt64, func(op *histories.Op, n int64) { op.Value = n }, true},
}

// named holds the special values that a history writes as a name instead of a number. A map key consists of the field
// and the name.
var named = map[string]int64{
	":validity unbounded": int64(histories.Unbounded),
	":wait try":           int64(histories.Try),
	":wait unlimited":     int64(histories.Unlimited),
}

func (e *entry) setNumber(name string, v *form) (known bool, err error) {
	name = strings.ReplaceAll(name, "_", "-")
	field, known := numbers[name]
	if !known || v.isNil() {
		return known, nil
	}
	n, named := named[name+" "+v.text]
	if !named {
		if n, err = v.number(field.low, field.high); err != nil {
			return true, err
		}
	}
	e.numbers[name] = n
	field.set(&e.op, n)
	return true, nil
}

func (e *entry) has(name string) bool {
	_, ok := e.numbers[name]
	return ok
}

// setValue parses the field :value. It may be a number, a map with the fencing token, or a tuple [key value] as in
// jepsen.independent.
func (e *entry) setValue() error {
	v := e.value
	if v == nil || e.process == nemesis && v.kind != whole {
		return nil
	}
	if v.kind == vector && len(v.items) == 2 && !e.keyed {
		key, err := keyOf(&v.items[0])
		if err != nil {
			return fmt.Errorf(":value: %w", err)
		}
		e.op.Key, v = key, &v.items[1]
		e.keyed = true
	}
	switch k := e.op.Kind; {
	case v.kind == whole:
		_, err := e.setNumber(":value", v)
		return err
	case v.isNil():
	case k == histories.Read || k == histories.Write || k == histories.Append || k == histories.Probe:
		return fmt.Errorf(":value of a %s: want a whole number, got %.40s", k, v.String())
	case v.kind == mapping: // an EDN map that may contain the fencing token
		for i := 0; i < len(v.items); i += 2 {
			if v.items[i].String() == ":fence" && !e.has(":fence") {
				_, err := e.setNumber(":fence", &v.items[i+1])
				return err
			}
		}
	}
	return nil
}

func (e *entry) complete(op *histories.Op) {
	op.Outcome, op.Error = e.op.Outcome, e.op.Error
	if e.keyed {
		op.Key = e.op.Key
	}
	for name, n := range e.numbers {
		if field := numbers[name]; field.ofEnd {
			field.set(op, n)
		}
	}
}

// header handles an entry that only lockbench writes: the header or the end of the history.
func (h *history) header(e *entry) error {
	switch {
	case e.value == nil || e.value.isNil():
		return nil // the entry for the end of the history only sets the current time
	case len(h.clients) > 0 || h.headed:
		return errors.New("a header that is not the first entry")
	case e.value.kind != str:
		return errors.New(":value of the header: want its JSON in a string")
	}
	h.headed = true
	return h.reader.SetHeader([]byte(e.value.text))
}

func kindOf(f string) (histories.Kind, error) {
	synonyms := map[string]histories.Kind{
		"lock": histories.Acquire, "try-lock": histories.Acquire, "try-acquire": histories.Acquire, "unlock": histories.Release,
		"extend": histories.Renew, "refresh": histories.Renew, "r": histories.Read, "w": histories.Write,
	}
	if k, ok := synonyms[f]; ok {
		return k, nil
	}
	var k histories.Kind
	err := k.UnmarshalText([]byte(f))
	if err != nil {
		err = fmt.Errorf(":f: %w", err)
	}
	return k, err
}

func keyOf(v *form) (string, error) {
	if v.isNil() {
		return "", errors.New("the key is nil")
	}
	return v.String(), nil
}

func (f *form) name() (string, error) {
	if f.kind != keyword && f.kind != str && f.kind != atom {
		return "", fmt.Errorf("want a keyword, got %.40s", f.String())
	}
	return f.text, nil
}

func (f *form) number(low, high int64) (int64, error) {
	if f.kind != whole || f.n < low || f.n > high {
		return 0, fmt.Errorf("want a whole number from %d to %d, got %.40s", low, high, f.String())
	}
	return f.n, nil
}
