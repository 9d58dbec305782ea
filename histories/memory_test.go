package histories

import (
	"bytes"
	"io"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recordSome records operations of two clients and of lockbench itself. It records more operations than a log can hold
// at first.
func recordSome(t *testing.T, rec *Recorder) {
	t.Helper()
	end := rec.Log(Harness).Inject(Op{Fault: "some"})
	for i := range 3 * memoryCapacity {
		for c := range int32(2) {
			time.Sleep(time.Millisecond)
			log := rec.Log(c)
			log.Call(Op{Kind: Acquire, Key: "k", Hold: log.NextHold()})
			time.Sleep(time.Millisecond)
			if i%5 == 0 {
				if err := rec.Mark(time.Duration(i)); err != nil { // one acquire and the fault have not returned; Mark also writes these two open operations
					t.Fatal(err)
				}
			}
			log.Return(Result{Outcome: OK, Validity: Unbounded, Fence: int64(i), Error: "é\n"})
			log.Note(Op{Kind: Renew, Key: "k", Call: rec.Since() - 1})
		}
	}
	end(OK, "")
	rec.Log(1).Call(Op{Kind: Acquire, Key: "k", Due: 5})
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestMemoryEqualsFile(t *testing.T) {
	header := Header{Lock: "some", Clients: 2, TTL: Nanos(time.Second), Params: map[string]string{"a": "b"},
		Expectations: []Expectation{{Property: "p", Expected: ToHold, Because: "so"}}}
	var file bytes.Buffer
	var m *Memory
	synctest.Test(t, func(t *testing.T) {
		rec, err := NewRecorder(&file, header, 2)
		if err != nil {
			t.Fatal(err)
		}
		recordSome(t, rec)
	})
	synctest.Test(t, func(t *testing.T) {
		var rec *Recorder
		rec, m = NewMemory(header, 2)
		recordSome(t, rec)
	})
	r, err := NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if first, err := r.Next(); err != nil || !first.Mark || first.At != 0 { // if a file has marks (times up to which it is complete), Next first returns one at time 0
		t.Fatalf("the first line is %+v, %v", first, err)
	}
	r.Header.Marks = false
	if diff := cmp.Diff(r.Header, m.Header); diff != "" {
		t.Errorf("the headers differ: %s", diff)
	}
	source := m.Source()
	for n := 1; ; n++ {
		want, err := r.Next()
		got, end := source()
		if diff := cmp.Diff(want, got); diff != "" || err != end {
			t.Fatalf("line %d: %v and %v, %s", n, err, end, diff)
		}
		if err == io.EOF {
			break
		}
	}
}

// TestAnyDifferenceChangesTheDigest checks that a change of any single field changes the digest.
func TestAnyDifferenceChangesTheDigest(t *testing.T) {
	whole := func() *Memory {
		return &Memory{Header: Header{Params: map[string]string{"a": "b"}, Expectations: []Expectation{{Property: "p"}}}, Lines: []Line{{}, {Mark: true}}}
	}
	digest := func(m *Memory) string {
		t.Helper()
		d, err := m.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	once, again := digest(whole()), digest(whole())
	if once != again {
		t.Fatal("equal histories have different digests")
	}
	seen := map[string]string{once: "nothing"}
	differs := func(m *Memory, what string) {
		t.Helper()
		d := digest(m)
		if other, taken := seen[d]; taken {
			t.Errorf("a change of %s has the digest of a change of %s", what, other)
		}
		seen[d] = what
	}
	for _, of := range []struct {
		name string
		at   func(*Memory) any
	}{
		{"header", func(m *Memory) any { return &m.Header }},
		{"claim", func(m *Memory) any { return &m.Header.Expectations[0] }},
		{"line", func(m *Memory) any { return &m.Lines[0] }},
		{"mark", func(m *Memory) any { return &m.Lines[1] }},
		{"operation", func(m *Memory) any { return &m.Lines[0].Op }},
	} {
		fields := reflect.TypeOf(of.at(whole())).Elem()
		for i := range fields.NumField() {
			m := whole()
			if change(t, reflect.ValueOf(of.at(m)).Elem().Field(i)) {
				differs(m, of.name+"."+fields.Field(i).Name)
			}
		}
	}
	longer := whole()
	longer.Lines = append(longer.Lines, Line{})
	differs(longer, "the length")
}

// change assigns a different value to a field. It returns false for a type whose fields must be changed one by one.
func change(t *testing.T, field reflect.Value) bool {
	t.Helper()
	switch v := field.Addr().Interface().(type) {
	case *time.Time:
		*v = time.Unix(1, 0)
		return true
	case *Op, *[]Expectation:
		return false
	case *map[string]string:
		(*v)["a"] = "c"
		return true
	}
	switch {
	case field.Kind() == reflect.String:
		field.SetString("x")
	case field.Kind() == reflect.Bool:
		field.SetBool(!field.Bool())
	case field.CanInt():
		field.SetInt(field.Int() + 1)
	case field.CanUint():
		field.SetUint(field.Uint() + 1)
	default:
		t.Fatalf("no case for a field of type %v", field.Type())
	}
	return true
}
