package yamlfile

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
	"github.com/samber/lo"

	"lockbench/internal/suggest"
)

const maxList = 100 // maximum number of values in a YAML list

// mapping reads a YAML mapping. It reports unknown, repeated, renamed and missing keys as mistakes.
func (f *File) mapping(n ast.Node, keys []Key) {
	f.at[n.GetPath()] = n
	m, ok := n.(ast.MapNode)
	if !ok {
		f.wrong(n, "%s is no mapping (want keys such as %s, each with a value)", describe(n), keys[0].Name)
		return
	}
	names := lo.Map(keys, func(k Key, _ int) string { return k.Name })
	seen := map[string]int{}
	for each := m.MapRange(); each.Next(); {
		name, single := textOf(each.Key())
		at := slices.Index(names, name.text)
		renamed := slices.IndexFunc(keys, func(k Key) bool { return single && k.Old != "" && k.Old == name.text })
		switch first, twice := seen[name.text]; {
		case renamed >= 0:
			f.wrong(each.Key(), "%s: the key is now called %s", name.text, keys[renamed].Name)
		case at < 0 || !single:
			f.wrong(each.Key(), "unknown key %s%s", describe(each.Key()), suggest.Meant(name.text, names))
		case twice:
			f.wrong(each.Key(), "%s: the key comes twice, first in line %d", name.text, first)
		default:
			seen[name.text], _ = position(each.Key())
			f.value(keys[at], each.Value())
		}
	}
	for _, k := range keys {
		if k.Required && seen[k.Name] == 0 {
			f.wrong(n, "%s is missing: %s", k.Name, k.Doc)
		}
		if k.With != "" && seen[k.Name] > 0 && seen[k.With] == 0 {
			f.wrong(n, "%s is missing: %s", k.With, k.WithWhy)
		}
	}
}

// value reads the value of a key. If the key takes a list, a single value counts as a list with one entry. A list of
// mappings must be written as a list.
func (f *File) value(k Key, n ast.Node) {
	n = f.placed(n)
	list, several := n.(*ast.SequenceNode)
	switch {
	case !k.List || n.Type() == ast.NullType:
		f.one(k, n)
	case !several && n.Type() != ast.TagType && k.Form == Mapping:
		f.wrong(n, "%s: %s is no list (want a list, each entry after a dash)", k.Name, describe(n))
	case !several:
		f.entries(k, []ast.Node{n})
	case len(list.Values) == 0 && !k.Empty:
		f.wrong(n, "%s: the list is empty", k.Name)
	case len(list.Values) > maxList && !f.json:
		f.wrong(n, "%s: the list has %d entries (want at most %d)", k.Name, len(list.Values), maxList)
	default:
		f.entries(k, list.Values)
	}
}

// placed records the position of a node, and returns the node without its YAML anchor.
func (f *File) placed(n ast.Node) ast.Node {
	if anchor, ok := n.(*ast.AnchorNode); ok {
		n = anchor.Value
	}
	f.at[n.GetPath()] = n
	return n
}

// entries reads a list. It compares normalised values, so 0x1 and 1 count as duplicates.
func (f *File) entries(k Key, list []ast.Node) {
	seen := map[string]bool{}
	into := reflect.ValueOf(k.Into).Elem()
	into.SetZero()
	for _, n := range list {
		before := len(f.all)
		entry := reflect.New(into.Type().Elem())
		k.Into = entry.Interface()
		f.one(k, n)
		into.Set(reflect.Append(into, entry.Elem()))
		if _, single := textOf(n); !single || len(f.all) > before {
			continue
		}
		text := show(k.Into)
		if seen[text] {
			f.wrong(n, "%s: %s comes twice", k.Name, text)
		}
		seen[text] = true
	}
}

func (f *File) one(k Key, n ast.Node) {
	n = f.placed(n)
	before := len(f.all)
	text, single := textOf(n)
	switch {
	case n.Type() == ast.NullType:
		f.wrong(n, "%s: has no value", k.Name)
	case n.Type() == ast.TagType:
		f.wrong(n, "%s: the tag %s is not understood here", k.Name, plain(n.GetToken().Value))
	case n.Type() == ast.AliasType:
		f.wrong(n, "%s: an alias is not understood here (write the value out)", k.Name)
	case k.Form == Mapping || k.Of != nil && !single && n.Type() != ast.SequenceType:
		f.mapping(n, k.Of(k.Into))
	case k.Form == Pairs:
		f.pairs(k, n)
	case !single:
		f.wrong(n, "%s: %s is no single value (want %s)", k.Name, describe(n), k.Want())
	case f.json && !text.quoted && k.Form != Whole && k.Form != Number && k.Form != Flag:
		f.wrong(n, "%s: %s has no quotes (want %s)", k.Name, describe(n), k.Want())
	case f.json && k.Form == Text:
		*k.Into.(*string) = text.text
	default:
		if err := k.set(text); err != nil {
			f.wrong(n, "%s: %v", k.Name, err)
		}
	}
	if k.Check == nil || len(f.all) > before {
		return
	}
	if err := k.Check(k.Into); err != nil {
		f.wrong(n, "%s: %v", k.Name, err)
	}
}

// pairs reads a mapping of arbitrary names to single values.
func (f *File) pairs(k Key, n ast.Node) {
	all, form := map[string]string{}, lo.Ternary(f.json, Text, Name)
	if m, ok := n.(ast.MapNode); ok {
		for each := m.MapRange(); each.Next(); {
			var name, value string
			f.one(Key{Name: k.Name, Form: form, Into: &name}, each.Key())
			f.value(Key{Name: name, Form: Text, Into: &value}, each.Value())
			if _, twice := all[name]; twice {
				f.wrong(each.Key(), "%s: the key %s comes twice", k.Name, name)
			}
			all[name] = value
		}
	}
	if len(all) == 0 {
		f.wrong(n, "%s: %s is no mapping of names to values", k.Name, describe(n))
	}
	*k.Into.(*map[string]string) = all
}

type scalar struct {
	text   string // text of the value, without quotes
	quoted bool
}

// textOf returns the text of a scalar. If the node is not a scalar, ok is false.
func textOf(n ast.Node) (s scalar, ok bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return scalar{n.Value, n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType}, true
	case *ast.LiteralNode:
		return scalar{n.Value.Value, true}, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode, *ast.BoolNode:
		return scalar{n.GetToken().Value, false}, true
	}
	return scalar{}, false
}

func (s scalar) String() string {
	return lo.Ternary(s.quoted, strconv.Quote(short(s.text)), plain(s.text))
}

func describe(n ast.Node) string {
	if s, ok := textOf(n); ok {
		return s.String()
	}
	kinds := map[ast.NodeType]string{ast.MappingType: "a mapping", ast.MappingValueType: "a mapping",
		ast.SequenceType: "a list", ast.AliasType: "an alias"}
	return cmp.Or(kinds[n.Type()], plain(n.GetToken().Value))
}

// plain returns a shortened text. The text is quoted if it is empty or contains characters that need quoting.
func plain(text string) string {
	text = short(text)
	if text == "" || strconv.Quote(text) != `"`+text+`"` {
		return strconv.Quote(text)
	}
	return text
}

func short(text string) string {
	const long = 60
	begin := lo.Substring(text, 0, long)
	return begin + lo.Ternary(begin == text, "", "...")
}

func assign(into any, text string) (err error) {
	switch p := into.(type) {
	case encoding.TextUnmarshaler:
		return p.UnmarshalText([]byte(text))
	case *time.Duration:
		*p, err = time.ParseDuration(text)
		return err
	}
	switch v := reflect.ValueOf(into).Elem(); v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return assign(v.Interface(), text)
	case reflect.String:
		v.SetString(text)
		return nil
	}
	_, err = fmt.Sscan(text, into)
	return err
}

// set checks a single value, and stores it in the variable to which k.Into points.
func (k Key) set(s scalar) (err error) {
	text := s.text
	switch k.Form {
	case Text:
		text, err = oneLine(text)
	case Name, Choice, Placed:
		err = k.word(s)
	case Whole:
		text, err = k.whole(s)
	case Number:
		text, err = k.number(s)
	case Span:
		text, err = k.span(s)
	case Flag:
		if text = strings.ToLower(text); s.quoted || text != "true" && text != "false" {
			err = fmt.Errorf("%v is neither true nor false", s)
		}
	}
	if err != nil {
		return err
	}
	return assign(k.Into, text)
}
