package histories

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// ednHeader is the :f of the entries in which lockbench writes what Jepsen's history has no place for: the
// header as the first entry, and the end of the record as the last.
const ednHeader = "lockbench"

// onlyKey is the key of operations that name none: a test of one lock.
const onlyKey = "lock"

// What stands for a process that is not a client's.
const (
	nemesis     = "nemesis"
	selfStarted = "lock" // the lock itself, such as its watchdog
)

// ednEntry is one map of Jepsen's history: half an operation.
type ednEntry struct {
	op      Op     // what the entry says of it; Call and Return are not set, but for one with its own :call
	kind    string // of :type
	f       string
	process string // nemesis, selfStarted, or empty for a client
	line    int
	time    *int64
	index   *int64
	has     map[fields]bool
	value   *form
}

func (e *ednEntry) who() string {
	if e.has[fClient] {
		return fmt.Sprintf("client %d", e.op.Client)
	}
	return fmt.Sprintf("process %d", e.op.Client)
}

func (e *ednEntry) clock() string {
	switch {
	case e.time != nil:
		return "time"
	case e.index != nil:
		return "index"
	}
	return ""
}

// parse reads an entry's fields. What is not known is counted, not refused: Jepsen's tests add fields of
// their own to every operation.
func (h *ednHistory) parse(f *form) (*ednEntry, error) {
	e := &ednEntry{line: f.line, has: map[fields]bool{}}
	seen := map[string]bool{}
	for i := 0; i < len(f.items); i += 2 {
		name := f.items[i].String()
		if seen[name] {
			return nil, fmt.Errorf("%s stands twice", name)
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
	if e.process != nemesis && seen[":fault"] { // a test's own field
		e.op.Fault = ""
		h.unknown[":fault"]++
	}
	return e, e.finish()
}

// finish reads what depends on more than one field.
func (e *ednEntry) finish() (err error) {
	if !e.has[fDue] {
		e.op.Due = e.op.Call
	}
	if e.process == nemesis {
		e.op.Kind = faultKind(e.f)
		if !e.has[fOutcome] {
			e.op.Outcome = OK
		}
		if !e.has[fClient] {
			e.op.Client = Harness
		}
		if e.f == ednHeader {
			return nil
		}
		return e.setValue()
	}
	if e.op.Kind, err = kindOf(e.f); err != nil {
		return err
	}
	if !e.has[fKey] {
		e.op.Key = onlyKey
	}
	if !e.has[fOutcome] {
		e.op.Outcome = map[string]Outcome{"ok": OK, "fail": Refused}[e.kind]
	}
	return e.setValue()
}

// set reads one field and tells whether it is known.
func (e *ednEntry) set(name string, v *form) (known bool, err error) {
	op := &e.op
	switch name {
	case ":type":
		e.kind, err = oneOf(v, "invoke", "ok", "fail", "info")
	case ":f":
		e.f, err = v.name()
	case ":process":
		err = e.setProcess(v)
	case ":value":
		e.value = v
	case ":time":
		e.time, err = v.optional()
	case ":index":
		e.index, err = v.optional()
	case ":key":
		op.Key, err = keyOf(v)
		e.has[fKey] = true
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
		e.has[fOutcome] = true
	default:
		return e.setNumber(name, v)
	}
	return true, err
}

// setNumber reads the fields that are whole numbers.
func (e *ednEntry) setNumber(name string, v *form) (known bool, err error) {
	op := &e.op
	f := fieldOf([]byte(strings.ReplaceAll(strings.TrimPrefix(name, ":"), "-", "_")))
	if !strings.HasPrefix(name, ":") || v.isNil() && f != 0 {
		return f != 0, nil
	}
	switch f {
	case fClient:
		err = v.number(int64(Harness), math.MaxInt32, func(n int64) { op.Client = int32(n) })
	case fLife:
		err = v.number(0, math.MaxInt32, func(n int64) { op.Life = int32(n) })
	case fHold:
		err = v.number(0, math.MaxInt64, func(n int64) { op.Hold = n })
	case fDepth:
		err = v.number(0, math.MaxUint16, func(n int64) { op.Depth = uint16(n) })
	case fFence:
		err = v.number(math.MinInt64, math.MaxInt64, func(n int64) { op.Fence = n })
	case fDue:
		err = v.duration(&op.Due)
	case fCall:
		err = v.duration(&op.Call)
	case fReturn: // of a loss, which may be noticed later than it took place
		err = v.duration(&op.Return)
	case fSentAfter:
		err = v.duration(&op.SentAfter)
	case fValidity:
		if op.Validity = Unbounded; v.text != "unbounded" {
			err = v.duration(&op.Validity)
		}
	default:
		return false, nil
	}
	e.has[f] = true
	return true, err
}

func (e *ednEntry) setProcess(v *form) error {
	if v.kind == whole {
		if e.has[fClient] {
			return nil // :client says whose it is
		}
		return v.number(0, math.MaxInt32, func(n int64) { e.op.Client = int32(n) })
	}
	e.process, _ = v.name()
	if e.process != nemesis && e.process != selfStarted {
		return fmt.Errorf("want a whole number or :nemesis, got %.40s", v.String())
	}
	return nil
}

// setValue reads :value: a number, a tuple [key value] of jepsen.independent, or a map with a :fence.
func (e *ednEntry) setValue() error {
	v := e.value
	if v == nil || e.process == nemesis && v.kind != whole {
		return nil
	}
	if v.kind == vector && len(v.items) == 2 && !e.has[fKey] {
		key, err := keyOf(&v.items[0])
		if err != nil {
			return fmt.Errorf(":value: %w", err)
		}
		e.op.Key, v = key, &v.items[1]
		e.has[fKey] = true
	}
	switch k := e.op.Kind; {
	case v.kind == whole:
		e.op.Value = v.n
		e.has[fValue] = true
	case v.isNil():
	case k == Read || k == Write || k == Append || k == Probe:
		return fmt.Errorf(":value of a %s: want a whole number, got %.40s", k, v.String())
	case v.kind == mapping:
		return e.fenceIn(v)
	}
	return nil
}

// fenceIn finds a fencing token in the value of a grant.
func (e *ednEntry) fenceIn(v *form) error {
	for i := 0; i < len(v.items); i += 2 {
		if v.items[i].String() == ":fence" && !e.has[fFence] {
			_, err := e.setNumber(":fence", &v.items[i+1])
			return err
		}
	}
	return nil
}

// complete adds to an operation what the entry that ends it says.
func (e *ednEntry) complete(op *Op) {
	op.Outcome, op.Error = e.op.Outcome, e.op.Error
	for _, f := range []struct {
		field fields
		take  func()
	}{
		{fKey, func() { op.Key = e.op.Key }},
		{fValue, func() { op.Value = e.op.Value }},
		{fHold, func() { op.Hold = e.op.Hold }},
		{fDepth, func() { op.Depth = e.op.Depth }},
		{fFence, func() { op.Fence = e.op.Fence }},
		{fSentAfter, func() { op.SentAfter = e.op.SentAfter }},
		{fValidity, func() { op.Validity = e.op.Validity }},
	} {
		if e.has[f.field] {
			f.take()
		}
	}
}

// header reads the header that lockbench wrote, or the end of its record.
func (h *ednHistory) header(e *ednEntry) error {
	switch {
	case e.value == nil || e.value.isNil():
		return nil // the end: the clock has moved on
	case len(h.clients) > 0 || h.headed:
		return errors.New("a header that is not the first entry")
	case e.value.kind != str:
		return errors.New(":value of the header: want its JSON in a string")
	}
	h.headed = true
	return h.reader.setHeader([]byte(e.value.text))
}

// kindOf is what a client's :f means.
func kindOf(f string) (Kind, error) {
	synonyms := map[string]Kind{
		"lock": Acquire, "try-lock": Acquire, "try-acquire": Acquire, "unlock": Release,
		"extend": Renew, "refresh": Renew, "r": Read, "w": Write,
	}
	if k, ok := synonyms[f]; ok {
		return k, nil
	}
	var k Kind
	err := k.UnmarshalText([]byte(f))
	if err != nil {
		err = fmt.Errorf(":f: %w", err)
	}
	return k, err
}

// faultKind is whether what the nemesis does ends a fault: Jepsen's own end with these words.
func faultKind(f string) Kind {
	for _, word := range []string{"stop", "heal", "resume", "reset"} {
		if strings.HasPrefix(f, word) {
			return Heal
		}
	}
	return Inject
}

// keyOf is the name of a lock: a text, or how EDN writes it.
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

func oneOf(v *form, names ...string) (string, error) {
	for _, n := range names {
		if v.kind != whole && v.text == n {
			return n, nil
		}
	}
	return "", fmt.Errorf("want one of :%s, got %.40s", strings.Join(names, " :"), v.String())
}

// number reads a whole number within bounds.
func (f *form) number(low, high int64, set func(int64)) error {
	if f.kind != whole || f.n < low || f.n > high {
		return fmt.Errorf("want a whole number from %d to %d, got %.40s", low, high, f.String())
	}
	set(f.n)
	return nil
}

// duration reads nanoseconds.
func (f *form) duration(d *time.Duration) error {
	return f.number(0, int64(Forever)-1, func(n int64) { *d = time.Duration(n) })
}

// optional reads a whole number from 0 on; nil is none.
func (f *form) optional() (*int64, error) {
	if f.isNil() {
		return nil, nil
	}
	err := f.number(0, int64(Forever)-1, func(int64) {})
	return &f.n, err
}
