package worker

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestInvalidLines(t *testing.T) {
	for text, want := range map[string]string{
		`Starting up...`:                                   "standard error",
		`{"id":1}`:                                         "no outcome",
		`[1]`:                                              "want a JSON object",
		`{"id":"1","ok":true}`:                             `the field "id" does not take a string`,
		`{"ok":true}`:                                      `repeats the "id"`,
		`{"id":1,"ok":true,"refused":"busy"}`:              "too many outcomes",
		`{"id":1,"ok":true,"lost":2}`:                      "more than one subject",
		`{"lost":1,"renewed":2}`:                           "more than one subject",
		`{"lost":1,"ok":true}`:                             "too many outcomes",
		`{"renewed":1}`:                                    "no outcome",
		`{"id":-1,"ok":true}`:                              "more than 0",
		`{"id":1,"ok":true,"validity_ms":5}`:               "validity_ms",
		`{"id":1,"ok":true,"validity_ns":-2}`:              "is negative",
		`{"id":1,"ok":true,"depth":70000}`:                 "depth",
		`{"id":1,"ok":true,"sent_after_ns":1e30}`:          "sent_after_ns",
		`{"id":1,"ok":true,"sent_after_ns":99` + zeros(16): "nanoseconds",
		`{"id":1,"ok":true} {"id":2,"ok":true}`:            "more than one value",
	} {
		_, err := ReadLine([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}

func zeros(n int) string { return strings.Repeat("0", n) + "}" }

func TestInvalidFirstLines(t *testing.T) {
	for text, want := range map[string]string{
		`{"lockbench_worker":1,"name":"../up"}`: "under which results are stored",
		`Traceback`:                             "Traceback",
		`{}`:                                    "version 0",
		`{"lockbench_worker":3,"name":"x"}`:     "version 3",
		`{"lockbench_worker":1}`:                "names no lock",
		`{"lockbench_worker":1,"name":"x","capabilities":["fly"]}`:                                  `"fly"`,
		`{"lockbench_worker":1,"name":"x","backoff_ms":-1}`:                                         "backoff_ms",
		`{"lockbench_worker":1,"name":"x","expect":[{"property":"fencing","verdict":"maybe"}]}`:     `"maybe"`,
		`{"lockbench_worker":1,"error":"no server"}`:                                                "no server",
		`{"lockbench_worker":1,"name":"x","claims":[]}`:                                             "claims",
		`{"lockbench_worker":1,"name":"` + strings.Repeat("x", 500) + `","expect":[{"property":1}]`: "...",
	} {
		_, err := ReadReady([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
}

// FuzzLine checks that accepted lines have values within bounds, and that they survive encoding and decoding.
func FuzzLine(f *testing.F) {
	for _, text := range []string{`{"id":1,"ok":true,"token":"t","sent_after_ns":5,"validity_ns":-1}`, `{"lost":3,"elapsed_ns":7}`,
		`{"renewed":3,"refused":"not held","elapsed_ns":7}`, `{"lockbench_worker":1,"name":"x","capabilities":["lost"],"segments":["#0"]}`,
		`{"id":1,"error":"\ud800"}`, `null`, `[]`, "\xff"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if l, err := ReadLine(text); err == nil {
			again, err := ReadLine(written(t, l))
			if err != nil || again != l {
				t.Fatalf("%+v became %+v: %v", l, again, err)
			}
			end := l.SentAfter + l.Validity + l.Elapsed + l.Left // the sum overflows if ReadLine accepts excessive durations
			if l.ID+l.Lost+l.Renewed <= 0 || l.Depth > 1<<16-1 || end < -2 || l.Lost == 0 && !l.OK && l.Refused == "" && l.Error == "" {
				t.Fatalf("%+v was accepted", l)
			}
		}
		if r, err := ReadReady(text); err == nil {
			again, err := ReadReady(written(t, r))
			if err != nil || r.Version < Oldest || r.Version > Version || !nameable.MatchString(r.Name) || !reflect.DeepEqual(again.Expectations, r.Expectations) && len(r.Expectations) > 0 {
				t.Fatalf("%+v became %+v: %v", r, again, err)
			}
		}
	})
}

func written(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(text)
}
