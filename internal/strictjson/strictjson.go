// Package strictjson decodes JSON into a struct, and tells with line and column what does not fit it: text that is no JSON, fields
// that the struct does not have or that come twice, values of another kind.
package strictjson

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Text is JSON that was decoded, and where its values stand.
type Text struct {
	text []byte
	at   map[string]int64 // offsets by path
}

// Error is a mistake in a text.
type Error struct {
	Line, Column int
	What         string
	Field        string   // that is unknown; else empty
	Known        []string // the fields that may stand there, if Field is not empty
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.What) }

// Decode decodes a text into what into points to. The error is an *Error.
func Decode(text []byte, into any) (*Text, error) {
	t := &Text{text, map[string]int64{}}
	if err := json.Unmarshal(text, new(any)); err != nil {
		return t, t.broken(err)
	}
	if err := t.locate(json.NewDecoder(bytes.NewReader(text)), "", reflect.TypeOf(into).Elem()); err != nil {
		return t, err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return t, t.broken(err)
	}
	return t, nil
}

// Has reports whether something stands at a path, such as claims[2].property.
func (t *Text) Has(path string) bool {
	_, there := t.at[path]
	return there
}

// Wrong returns a mistake at a path; at the beginning if nothing stands there.
func (t *Text) Wrong(path, format string, args ...any) *Error {
	return t.wrong(t.at[path], format, args...)
}

func (t *Text) wrong(at int64, format string, args ...any) *Error {
	before := t.text[:min(at, int64(len(t.text)))]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return &Error{Line: bytes.Count(before, []byte{'\n'}) + 1, Column: utf8.RuneCount(line) + 1, What: fmt.Sprintf(format, args...)}
}

// locate notes where every value stands, and finds fields that are unknown or come twice.
func (t *Text) locate(d *json.Decoder, path string, of reflect.Type) error {
	t.at[path] = t.next(d.InputOffset())
	opened, err := d.Token()
	if err != nil || opened != json.Delim('[') && opened != json.Delim('{') {
		return err
	}
	for i := 0; d.More(); i++ {
		inner, element := fmt.Sprintf("%s[%d]", path, i), elementOf(of)
		if opened == json.Delim('{') {
			at := t.next(d.InputOffset())
			name, err := d.Token()
			if err != nil {
				return err
			}
			if inner, element, err = t.field(path, name.(string), of, at); err != nil {
				return err
			}
		}
		if err := t.locate(d, inner, element); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// field returns the path and the type of a field, nil if it may be any, unless it is unknown or was there before.
func (t *Text) field(path, name string, of reflect.Type, at int64) (inner string, type_ reflect.Type, err error) {
	inner = strings.TrimPrefix(path+"."+name, ".")
	if t.Has(inner) {
		return "", nil, t.wrong(at, "the field %q comes twice", name)
	}
	of = plain(of)
	if of == nil || of.Kind() != reflect.Struct {
		return inner, elementOf(of), nil
	}
	fields := fieldsOf(of)
	if i := slices.IndexFunc(fields, func(f field) bool { return f.name == name }); i >= 0 {
		return inner, fields[i].type_, nil
	}
	e := t.wrong(at, "unknown field %q", name)
	e.Field = name
	for _, f := range fields {
		e.Known = append(e.Known, f.name)
	}
	return "", nil, e
}

// next returns where the value begins that follows an offset.
func (t *Text) next(after int64) int64 {
	for after < int64(len(t.text)) && strings.ContainsRune(" \t\r\n,:", rune(t.text[after])) {
		after++
	}
	return after
}

// broken returns what is wrong with text that is no JSON, or of another shape.
func (t *Text) broken(err error) *Error {
	var syntax *json.SyntaxError
	var shape *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return t.wrong(max(0, syntax.Offset-1), "%v", err)
	case errors.As(err, &shape):
		where := "" // of the value that ends there: the last one to begin before
		for path, begins := range t.at {
			if begins < shape.Offset && begins >= t.at[where] {
				where = path
			}
		}
		return t.Wrong(where, "%s: this is of the kind %s, want %s", cmp.Or(where, "the file"), shape.Value, kindOf(shape.Type))
	}
	return t.wrong(0, "%v", err)
}

// kindOf is what JSON calls a type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Float64:
		return "number"
	}
	return "a whole number that fits"
}

type field struct {
	name  string
	type_ reflect.Type
}

// fieldsOf returns the fields that a struct has in JSON.
func fieldsOf(t reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			all = append(all, fieldsOf(plain(f.Type))...)
		case f.IsExported() && name != "-":
			all = append(all, field{cmp.Or(name, f.Name), f.Type})
		}
	}
	return all
}

// elementOf returns the type of what a list or a map holds; nil if it may be any.
func elementOf(t reflect.Type) reflect.Type {
	if t = plain(t); t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Array) {
		return t.Elem()
	}
	return nil
}

// plain returns what a pointer points to; nil for a type that decodes itself, and for an interface.
func plain(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() == reflect.Interface {
		return nil
	}
	p := reflect.PointerTo(t)
	if p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	return t
}
