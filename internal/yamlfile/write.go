package yamlfile

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/token"
)

// Text returns the value of a key as it stands in a file, in one line; empty if it has none.
func (k Key) Text() string {
	switch {
	case k.List:
		var words []string
		v := reflect.ValueOf(k.Into).Elem()
		for i := range v.Len() {
			one := k
			one.List, one.Into = false, v.Index(i).Addr().Interface()
			words = append(words, one.Text())
		}
		return "[" + strings.Join(words, ", ") + "]"
	case k.Form == Pairs:
		pairs := *k.Into.(*map[string]string)
		var words []string
		for _, name := range slices.Sorted(maps.Keys(pairs)) {
			words = append(words, quoted(name)+": "+quoted(pairs[name]))
		}
		return "{" + strings.Join(words, ", ") + "}"
	case k.Form == Mapping:
		return "{" + strings.Join(stated(k.Of(k.Into)), ", ") + "}"
	case k.Of != nil:
		if more := stated(k.Of(k.Into)); len(more) > 1 {
			return "{" + strings.Join(more, ", ") + "}"
		}
	}
	switch text := show(k.Into); k.Form {
	case Text, Name, Choice, Placed:
		if text == "" {
			return ""
		}
		return quoted(text)
	default:
		return text
	}
}

// stated returns what a mapping states: its keys whose values are not zero.
func stated(keys []Key) []string {
	var all []string
	for _, k := range keys {
		if !reflect.ValueOf(k.Into).Elem().IsZero() {
			all = append(all, k.Name+": "+k.Text())
		}
	}
	return all
}

// Write returns a file that states what is in the variables of its keys, unless it is zero.
func Write(keys []Key) []byte { return []byte(strings.Join(stated(keys), "\n") + "\n") }

// show returns the single value of a variable as people write it.
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

// quoted returns a text as it has to stand in a file, also within a list.
func quoted(text string) string {
	if token.IsNeedQuoted(text) || strings.ContainsAny(text, ",[]{}") {
		return strconv.Quote(text)
	}
	return text
}
