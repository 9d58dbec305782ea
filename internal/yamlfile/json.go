package yamlfile

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// ReadJSON reads a JSON file into the variables of its keys, as Read does for YAML. Unlike Read, it accepts files and
// lists of any length. A text must be a JSON string, and its line ends are kept.
func ReadJSON(name, kind string, whole []byte, keys []Key) (*File, error) {
	f := newFile(name, whole)
	f.json = true
	if err := f.checkJSON(new(any)); err != nil {
		return nil, err
	}
	return f, f.read(kind, keys)
}

// checkJSON decodes JSON. The error for invalid syntax contains the position.
func (f *File) checkJSON(into any) error {
	err := json.Unmarshal(f.whole, into)
	var syntax *json.SyntaxError
	if err == nil || !errors.As(err, &syntax) {
		return err
	}
	line, column := f.place(max(0, syntax.Offset-1))
	return f.fail(line, column, "%v", err)
}

func (f *File) place(at int64) (line, column int) {
	before := f.whole[:min(at, int64(len(f.whole)))]
	return bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// UnknownField is the error for a field of a JSON object that the Go type does not have.
type UnknownField struct {
	Name  string
	Known []string // names of the fields that the type has
}

func (u *UnknownField) Error() string { return fmt.Sprintf("unknown field %q", u.Name) }

// DecodeJSON decodes JSON into a struct with json tags. The error has one line. It is an *UnknownField, or contains the
// position of the mistake.
func DecodeJSON(whole []byte, into any) error {
	f := newFile("", whole)
	f.json = true
	err := f.checkJSON(into)
	var shape *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &shape) {
		return f.firstMistake(err)
	}
	file, twice := parser.ParseBytes(whole, 0)
	if twice != nil {
		return f.firstMistake(f.syntax(twice))
	}
	if shape == nil {
		return fields(file.Docs[0].Body, reflect.TypeOf(into))
	}
	before := whole[:max(0, shape.Offset-1)] // the offset is at the end of the invalid value, so search backwards for its start
	line, column := f.place(int64(bytes.LastIndexAny(before, " \t\n:,[{") + 1))
	path := shape.Field
	for _, f := range reflect.VisibleFields(reflect.TypeOf(into).Elem()) {
		if f.Anonymous {
			path = strings.TrimPrefix(path, f.Name+".")
		}
	}
	return fmt.Errorf("%d:%d: %s: this is of the kind %s, want %s", line, column, cmp.Or(path, "the file"), shape.Value, kindOf(shape.Type))
}

// firstMistake returns the first mistake in the file as an error of one line. The line contains the position
// and the text of the mistake, without the file name. If no mistake was recorded, firstMistake returns err.
func (f *File) firstMistake(err error) error {
	if len(f.all) == 0 {
		return err
	}
	return fmt.Errorf("%d:%d: %s", f.all[0].line, f.all[0].column, f.all[0].text)
}

// fields returns an error if a decoded object has a field that the type does not have.
func fields(n ast.Node, of reflect.Type) error {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() == reflect.Interface || reflect.PointerTo(of).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	switch v := n.(type) {
	case *ast.SequenceNode:
		for _, one := range v.Values {
			if err := fields(one, of.Elem()); err != nil {
				return err
			}
		}
	case ast.MapNode:
		for each := v.MapRange(); each.Next(); {
			element, err := fieldOf(of, each.Key())
			if err == nil {
				err = fields(each.Value(), element)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func fieldOf(of reflect.Type, name ast.Node) (reflect.Type, error) {
	if of.Kind() == reflect.Map {
		return of.Elem(), nil
	}
	types := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(of) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" && tag != "-" {
			types[tag] = f.Type
		}
	}
	text, _ := textOf(name)
	if t, known := types[text.text]; known {
		return t, nil
	}
	return nil, &UnknownField{text.text, slices.Sorted(maps.Keys(types))}
}

func kindOf(t reflect.Type) string {
	kinds := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "bool", reflect.Slice: "array",
		reflect.Struct: "object", reflect.Map: "object", reflect.Float64: "number"}
	return cmp.Or(kinds[t.Kind()], "a whole number that fits")
}
