package yamlfile

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/token"
	"github.com/samber/lo"
)

// Text returns the current value of a key as one line of YAML, or "" if the key has no value.
func (k Key) Text() string {
	switch {
	case k.List:
		v := reflect.ValueOf(k.Into).Elem()
		return "[" + strings.Join(lo.Times(v.Len(), func(i int) string {
			one := k
			one.List, one.Into = false, v.Index(i).Addr().Interface()
			return one.Text()
		}), ", ") + "]"
	case k.Form == Pairs:
		words := lo.MapToSlice(*k.Into.(*map[string]string), func(name, value string) string { return quoted(name) + ": " + quoted(value) })
		slices.Sort(words)
		return "{" + strings.Join(words, ", ") + "}"
	case k.Form == Mapping:
		return "{" + strings.Join(stated(k.Of(k.Into)), ", ") + "}"
	case k.Of != nil:
		if more := stated(k.Of(k.Into)); len(more) > 1 {
			return "{" + strings.Join(more, ", ") + "}"
		}
	}
	text := show(k.Into)
	if text != "" && slices.Contains([]Form{Text, Name, Choice, Placed}, k.Form) {
		return quoted(text)
	}
	return text
}

func stated(keys []Key) []string {
	set := lo.Reject(keys, func(k Key, _ int) bool {
		v := reflect.ValueOf(k.Into).Elem()
		return v.IsZero() || k.List && !k.Empty && v.Len() == 0
	})
	return lo.Map(set, func(k Key, _ int) string { return k.Name + ": " + k.Text() })
}

// Write returns a YAML file with the values of the keys. It leaves out zero values.
func Write(keys []Key) []byte { return []byte(strings.Join(stated(keys), "\n") + "\n") }

func show(of any) string {
	switch p := of.(type) {
	case encoding.TextMarshaler:
		text, err := p.MarshalText()
		if err != nil {
			panic(fmt.Sprintf("%T has a value that is no text: %v", of, err))
		}
		return string(text)
	case *time.Duration:
		return Spelt(*p)
	case *float64:
		return Plainly(*p)
	}
	v := reflect.ValueOf(of).Elem()
	if v.Kind() == reflect.Pointer {
		return show(v.Interface())
	}
	return fmt.Sprint(v.Interface())
}

func quoted(text string) string {
	if token.IsNeedQuoted(text) || strings.ContainsAny(text, ",[]{}") {
		return strconv.Quote(text)
	}
	return text
}
