package explore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lockbench/impls"
	"lockbench/internal/drive/faults"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// tableCase returns a case in which clients use the lock under a built-in fault.
func tableCase(lock, fault, load, on string) (File, error) {
	l, err := lockNamed(lock)
	if err != nil {
		return File{}, err
	}
	all, loads := faults.All(), workloads.All()
	f := all[slices.IndexFunc(all, func(f faults.Fault) bool { return f.Name == fault })]
	w := loads[slices.IndexFunc(loads, func(w workloads.Workload) bool { return w.Name == load })]
	on = cmp.Or(on, l.Deployment)
	p := w.Adapted(f.Params(workloads.Defaults(), 0, on))
	if l.Lease > 0 {
		p.TTL = min(p.TTL, l.Lease)
	}
	return File{Version: Version, Property: "lease-exclusion", Case: Case{Lock: lock, Deployment: on, Workload: load, Params: p,
		LockParams: map[string]string{"wait": "backoff"}, Plan: f.Plan(faults.Scene{TTL: p.TTL, Deployment: on, Processes: p.Processes})}}, nil
}

// stalled returns a case with the fault holder-stall, in which a hold outlives its lease.
func stalled(t testing.TB) File {
	t.Helper()
	f, err := tableCase("set-px", "holder-stall", "counter", "")
	if err != nil {
		t.Fatal(err)
	}
	f.Found = "A client works longer than `its lease`, & another client acquires the lock."
	f.Violated, f.Seed, f.Strategy, f.Digest = []string{"lease-exclusion"}, 7, "aimed", "0123456789abcdef"
	return f
}

func TestFileRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "case.json")
	want := stalled(t)
	if err := WriteFile(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("wrote %+v, read %+v: %v", want, got, err)
	}
	if _, err := ReadFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestVersion1 checks that Decode replaces the old names in a case file of version 1.
func TestVersion1(t *testing.T) {
	want, err := tableCase("set-px", "cancelled-acquire", "counter", "")
	if err != nil {
		t.Fatal(err)
	}
	want.Plan.Gates = []faults.Gate{{Client: 1, Timeout: time.Second}}
	text, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	old := strings.NewReplacer(`_case": 2`, `_case": 1`, `"timeout_ns"`, `"patience_ns"`, `"cancel"`, `"give up"`).Replace(string(text))
	if !strings.Contains(old, `"patience_ns"`) || !strings.Contains(old, `"give up"`) {
		t.Fatalf("the case has no name that changed:\n%s", old)
	}
	if got, err := Decode([]byte(old)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v: %v", got, want, err)
	}
}

// TestInvalidFiles checks the errors for invalid case files. Each error must be one sentence that names the mistake.
func TestInvalidFiles(t *testing.T) {
	good, err := stalled(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, text string) string {
		if !strings.Contains(string(good), old) {
			t.Fatalf("%s is not in the case\n%s", old, good)
		}
		return strings.Replace(string(good), old, text, 1)
	}
	for text, want := range map[string]string{
		``:                                    "1:1: unexpected end of JSON input",
		"{\n\"lockbench_case\": 2,\n}":        "3:1: invalid character '}'",
		`[]`:                                  "1:1: the file: this is of the kind array, want object",
		`{"lockbench":1}`:                     `it is no case: want an object with "lockbench_case":2`,
		change(`_case": 2`, `_case": 3`):      "the case has version 3, and this lockbench reads versions 1 and 2",
		change(`"plan":`, `"plans":`):         `unknown field "plans"`,
		change(`"set-px"`, `"set-pz"`):        `unknown lock "set-pz"`,
		change(`"counter"`, `"count"`):        `unknown workload "count"`,
		change(`"counter"`, `"reentrant"`):    "the workload reentrant needs a re-entrant lock, and set-px is none",
		change(`"counter"`, `"write-fenced"`): "needs a lock with fencing tokens",
		change(`"property": "lease-exclusion"`, `"property": "exclusion"`): `unknown property "exclusion"`,
		change(`"clients": 3`, `"clients": "3"`):                           "15:16: params.clients: this is of the kind string, want a whole number that fits",
		change(`"clients": 3`, `"clients": 0`):                             "0 clients: want 1 to 10000",
		change(`"clients": 3`, `"clients": 3000`):                          "3000 clients: a case has at most 1000",
		change(`"wait": "backoff"`, `"wait": "long"`):                      "lock parameter wait=long",
		change(`"single"`, `""`):                                           "the deployment of set-px is missing",
		change(`"single"`, `"double"`):                                     "the deployment double cannot be simulated",
		change(`"single"`, `"durable"`):                                    "the emulator has no disk",
		change(`"verb": "stall"`, `"verb": "dance"`):                       "the action dance cannot be simulated",
		change(`"verb": "stall"`, `"verb": "failover"`):                    "failover needs a deployment with a replica",
		change(`"verb": "stall"`, `"process": 2, "verb": "pause"`):         "it strikes process 2, and there are 2",
		change(`"verb": "stall"`, `"client": -1, "verb": "stall"`):         "it strikes client -1, and there are 3",
		change(`"point": "granted"`, `"point": "grantd"`):                  `a moment is at the point "grantd"`,
		change(`"client": 2,`, `"client": 2, "x": 1,`):                     `unknown field "x"`,
		change(`"client": 2,`, `"client": 2, "client": 3,`):                "this is no JSON: mapping key \"client\" already defined at",
		change(`"point"`, `"client": 8, "point"`):                          "gate 1: a moment is of client 8, and there are 3",
		change(`"hold_ns": 560000000`, `"hold_ns": 9000000000000000`):      "2500h0m0s is too long: a duration in a case is at most 1h0m0s",
		change(`"when": {`, `"when": {"on": {"process": 5, "nth": 1},`):    "step 1: it waits for command 1 of process 5, and there are 2 processes",
		string(good) + "{}":                                                "62:1: invalid character '{' after top-level value",
	} {
		_, err := Decode([]byte(text))
		if err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) || err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("got  %v\nwant %s\nof %.60q", err, want, text)
		}
	}
	var u *Unknown
	if _, err := Decode([]byte(change(`"plan":`, `"plans":`))); !errors.As(err, &u) || !slices.Contains(u.Known, "plan") || slices.Contains(u.Known, "by_ns") {
		t.Errorf("%v does not list the known fields", err)
	}
}

// TestCaseSchema checks that the published JSON schema has exactly the fields of File, and accepts a case.
func TestCaseSchema(t *testing.T) {
	const file = "../../../docs/case.schema.json"
	schema, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	sameFields(t, "the case", reflect.TypeFor[File](), root, root)
	good, err := stalled(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		string(good): true,
		strings.Replace(string(good), `"counter"`, `7`, 1):                     false,
		strings.Replace(string(good), `"plan":`, `"plans":`, 1):                false,
		strings.Replace(string(good), `_case": 2`, `_case": 3`, 1):             false,
		strings.Replace(string(good), `"verb": "stall"`, `"verb": "dance"`, 1): false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != want {
			t.Errorf("%v, of\n%s", err, text)
		}
	}
}

// sameFields compares the JSON fields of a type, including nested types, with the properties of a JSON schema.
func sameFields(t *testing.T, where string, of reflect.Type, schema, root map[string]any) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		defs, _ := root["$defs"].(map[string]any)
		schema, _ = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
		if of.Kind() == reflect.Slice {
			schema, _ = schema["items"].(map[string]any)
			sameFields(t, where, of.Elem(), schema, root)
			return
		}
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return
	}
	properties, _ := schema["properties"].(map[string]any)
	var want []string
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		want = append(want, name)
		sub, ok := properties[name].(map[string]any)
		if !ok {
			t.Errorf("%s: the field %s is not in the schema", where, name)
			continue
		}
		sameFields(t, where+"."+name, f.Type, sub, root)
	}
	for name := range properties {
		if !slices.Contains(want, name) {
			t.Errorf("%s: the schema has %s, and there is no such field", where, name)
		}
	}
	if schema["additionalProperties"] != false {
		t.Errorf("%s: the schema accepts unknown fields", where)
	}
}

// TestScaled checks that Scaled multiplies every duration except clock drifts. Nothing else may change, and the
// original case must stay the same.
func TestScaled(t *testing.T) {
	c := stalled(t).Case
	c.Plan.Steps = append(c.Plan.Steps, faults.Step{Do: faults.Action{Verb: faults.Drift, By: time.Second}})
	was := fmt.Sprintf("%+v", c)
	scaled := c.Scaled(2)
	for i, d := range scaled.times() {
		if before := *c.times()[i]; *d != 2*before && before != time.Second {
			t.Errorf("time %d: %v became %v", i, before, *d)
		}
	}
	if drift := c.Scaled(2).Plan.Steps[1].Do.By; drift != time.Second {
		t.Errorf("the drift became %v in a second", drift)
	}
	if now := fmt.Sprintf("%+v", c); now != was {
		t.Errorf("%s\nbecame\n%s", was, now)
	}
}

// FuzzCase encodes and decodes valid case files. Their content must stay the same.
func FuzzCase(f *testing.F) {
	good, err := stalled(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"lockbench_case":2,"plan":{"steps":[{"when":{"on":{"process":0,"nth":1}}}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Decode(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a sentence: %v", err)
			}
			return
		}
		again, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(again)
		if err != nil {
			t.Fatalf("%v, of\n%s", err, again)
		}
		if twice, err := back.Encode(); err != nil || string(twice) != string(again) {
			t.Errorf("wrote\n%s\nread\n%s", again, twice)
		}
	})
}

// TestDecodeProgram checks that a case of a lock in another program runs on real servers, also if its file names none.
func TestDecodeProgram(t *testing.T) {
	c := usualCase("set-px-lua", 1)
	c.Lock, c.Deployment, c.Plan = "decoded", "single", faults.Plan{}
	Register(impls.Impl{Name: c.Lock, Store: "redis", Deployment: "single", Leased: true, Program: &impls.Program{}})
	text, err := File{Property: "progress", Case: c}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Decode(text)
	if err != nil || f.Servers != servers.Local {
		t.Errorf("the case runs on %q: %v", f.Servers, err)
	}
}
