package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"lockbench/impls"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
)

const hintClaims = "docs/claims.schema.json has the shape of a file of claims, and examples/ci one"

// claims are what a library says of its lock; docs/claims.schema.json has their shape.
type claims struct {
	Version int               `json:"lockbench_claims"`
	Lock    string            `json:"lock"`
	Claims  []claim           `json:"claims"`
	Params  map[string]string `json:"params"` // handed to the worker
}

type claim struct {
	Property string        `json:"property"`
	Fault    string        `json:"fault"`    // "none" where it is left out
	Workload string        `json:"workload"` // what shows the property where it is left out
	Verdict  impls.Verdict `json:"verdict"`
	Because  string        `json:"because"`
}

// claimFields are the fields that each object of the file may have; every one of params.
var claimFields = map[string][]string{
	"": {"$schema", "lockbench_claims", "lock", "claims", "params"}, "claims[]": {"property", "fault", "workload", "verdict", "because"},
}

// claimsReader reads a file of claims, and knows where in it things stand.
type claimsReader struct {
	file string
	text []byte
	at   map[string]int64 // offsets of the values by their path, as in claims[2].property
}

// readClaims reads a file of claims whole. An error names the line and the column.
func readClaims(file string) (claims, error) {
	var c claims
	text, err := os.ReadFile(file)
	if err != nil {
		return c, console.Usage(err, hintClaims)
	}
	r := claimsReader{file, text, map[string]int64{}}
	if err := json.Unmarshal(text, new(any)); err != nil {
		return c, r.broken(err)
	}
	if err := r.locate(json.NewDecoder(bytes.NewReader(text)), ""); err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, r.broken(err)
	}
	return c, r.check(&c)
}

// locate notes where every value stands, and finds fields that are unknown or come twice.
func (r claimsReader) locate(d *json.Decoder, path string) error {
	r.at[path] = r.value(d.InputOffset())
	opened, err := d.Token()
	if err != nil {
		return err
	}
	switch opened {
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if err := r.locate(d, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		for d.More() {
			at := r.value(d.InputOffset())
			key, err := d.Token()
			if err != nil {
				return err
			}
			if err := r.field(path, key.(string), at); err != nil {
				return err
			}
			if err := r.locate(d, strings.TrimPrefix(path+"."+key.(string), ".")); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = d.Token()
	return err
}

var numbers = regexp.MustCompile(`\d+`)

// field refuses a field that is unknown, or was there before.
func (r claimsReader) field(of, name string, at int64) error {
	if _, twice := r.at[strings.TrimPrefix(of+"."+name, ".")]; twice {
		return r.wrong(at, fmt.Sprintf("the field %q comes twice", name))
	}
	known, ok := claimFields[numbers.ReplaceAllString(of, "")]
	if ok && !slices.Contains(known, name) {
		return r.unknown(at, "field", name, known)
	}
	return nil
}

// value is where the value begins that follows an offset.
func (r claimsReader) value(after int64) int64 {
	for after < int64(len(r.text)) && strings.ContainsRune(" \t\r\n,:", rune(r.text[after])) {
		after++
	}
	return after
}

// broken is the error of text that is no JSON, or of another shape.
func (r claimsReader) broken(err error) error {
	var syntax *json.SyntaxError
	var shape *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return r.wrong(max(0, syntax.Offset-1), err.Error())
	case errors.As(err, &shape):
		where := "" // of the value that ends there: the last one to begin before
		for path, begins := range r.at {
			if begins < shape.Offset && begins >= r.at[where] {
				where = path
			}
		}
		return r.wrong(r.at[where], fmt.Sprintf("%s: this is of the kind %s, want %s", cmp.Or(where, "the file"), shape.Value, kindOf(shape.Type)))
	}
	return r.wrong(0, err.Error())
}

// kindOf is what JSON calls a type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "number"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return "string"
}

// wrong is an error at a place in the file.
func (r claimsReader) wrong(at int64, what string) error {
	return console.Usage(fmt.Errorf("%s: %s", r.place(at), what), hintClaims)
}

func (r claimsReader) unknown(at int64, what, name string, known []string) error {
	var e *console.Exit
	err := console.Unknown(what, name, known)
	if errors.As(err, &e) {
		e.Err = fmt.Errorf("%s: %w", r.place(at), e.Err)
	}
	return err
}

func (r claimsReader) place(at int64) string {
	before := r.text[:min(at, int64(len(r.text)))]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("%s:%d:%d", r.file, bytes.Count(before, []byte{'\n'})+1, utf8.RuneCount(line)+1)
}

// check holds the names to the tables, and fills in what was left out.
func (r claimsReader) check(c *claims) error {
	switch {
	case c.Version != 1:
		return r.wrong(r.at["lockbench_claims"], fmt.Sprintf(`version %d of the format is not known: want "lockbench_claims":1`, c.Version))
	case c.Lock == "":
		return r.wrong(r.at["lock"], `the file names no lock: want "lock":"...", as its worker calls itself`)
	case len(c.Claims) == 0:
		return r.wrong(r.at["claims"], "nothing is claimed")
	}
	seen := map[claim]bool{}
	for i := range c.Claims {
		if err := r.checkOne(&c.Claims[i], fmt.Sprintf("claims[%d]", i)); err != nil {
			return err
		}
		same := c.Claims[i]
		same.Verdict, same.Because = "", ""
		if seen[same] {
			return r.wrong(r.at[fmt.Sprintf("claims[%d]", i)], fmt.Sprintf("%s in %s under %s was claimed before", same.Property, same.Workload, same.Fault))
		}
		seen[same] = true
	}
	return nil
}

func (r claimsReader) checkOne(c *claim, path string) error {
	if c.Fault == "" {
		c.Fault = faults.None().Name
	}
	if c.Workload == "" {
		c.Workload = showing(c.Property, c.Fault)
	}
	for _, f := range []struct {
		field, text string
		known       []string
	}{
		{"property", c.Property, choice.Properties.Names()},
		{"fault", c.Fault, choice.Faults.Names()},
		{"workload", c.Workload, choice.Workloads.Names()},
		{"verdict", string(c.Verdict), []string{string(impls.Holds), string(impls.Breaks), string(impls.Open)}},
	} {
		at, there := r.at[path+"."+f.field]
		if !slices.Contains(f.known, f.text) {
			if !there {
				return r.wrong(r.at[path], fmt.Sprintf("the claim has no %q", f.field))
			}
			return r.unknown(at, f.field, f.text, f.known)
		}
	}
	if c.Because == "" {
		return r.wrong(r.at[path], `the claim has no "because": a sentence for who reads the report`)
	}
	return nil
}

// showing is the workload that shows a property: the tables have special ones for those that others do not
// touch.
func showing(property, fault string) string {
	switch {
	case property == "reentrancy":
		return "reentrant"
	case property == "owner-release" && fault == faults.None().Name:
		return "misuse"
	}
	return "counter"
}
