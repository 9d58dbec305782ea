package yamlfile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// thing is the struct that the tests read YAML into.
type thing struct {
	Name, Text string
	Whole      many
	Number     float64
	Length     time.Duration
	Choice     []string
	Flag       bool
	Placed     []place
	Pairs      map[string]string
	Times      struct{ P50 time.Duration }
}

// The type many is an integer with its own decoder: UnmarshalText decodes the word "many" as 0, and any other text as a
// number.
type many int

func (m *many) UnmarshalText(text []byte) error {
	*m = 0
	if string(text) == "many" {
		return nil
	}
	_, err := fmt.Sscan(string(text), (*int)(m))
	return err
}

type place struct{ Name string }

func (p *place) UnmarshalText(text []byte) error { p.Name = string(text); return nil }

// keysOfEveryForm returns keys that together use each Form and each field of Key except Old.
func keysOfEveryForm(t *thing) []Key {
	return []Key{
		{Name: "name", Into: &t.Name, Form: Name, Required: true, Doc: "of it"},
		{Name: "text", Into: &t.Text, Form: Text, Doc: "a line"},
		{Name: "whole", Into: &t.Whole, Form: Whole, Min: 1, Top: 9, Instead: "many", Doc: "a whole number"},
		{Name: "number", Into: &t.Number, Form: Number, Min: 0, Max: 1, Doc: "a number"},
		{Name: "span", Into: &t.Length, Form: Span, From: time.Millisecond, To: time.Hour, Doc: "a duration"},
		{Name: "choice", Into: &t.Choice, Form: Choice, List: true, Empty: true, Values: []string{"red", "green"}, Doc: "some of them"},
		{Name: "flag", Into: &t.Flag, Form: Flag, Normally: "false", Doc: "whether"},
		{Name: "placed", Into: &t.Placed, Form: Placed, List: true, Of: func(into any) []Key {
			return []Key{{Name: "name", Into: into, Form: Placed, Required: true, Doc: "of it"}}
		}, Check: notMars, Doc: "where"},
		{Name: "pairs", Into: &t.Pairs, Form: Pairs, With: "text", WithWhy: "pairs are told in it", Doc: "any"},
		{Name: "times", Into: &t.Times, Form: Mapping, Of: func(any) []Key {
			return []Key{{Name: "p50", Into: &t.Times.P50, Form: Span, To: time.Second, Doc: "the median"}}
		}, Doc: "times"},
	}
}

func notMars(into any) error {
	p := into.(*place)
	if p.Name == "" {
		return errors.New("what was wrong already is asked of")
	}
	if strings.HasSuffix(p.Name, "@mars") {
		return errors.New("nobody is on mars")
	}
	return nil
}

const whole = `name: it
text: 'two

  lines'
whole: 0x9
number: 5e-1
span: 0.5s
choice: red
flag: true
placed: [one, two@venus, {name: three}]
pairs: {a: 1, b: two}
times: {p50: 1500us}
`

// TestRead checks that values are normalised, and that a single value is read as a list.
func TestRead(t *testing.T) {
	var got thing
	if _, err := Read("f.yaml", "thing", []byte(whole), keysOfEveryForm(&got)); err != nil {
		t.Fatal(err)
	}
	want := thing{Name: "it", Text: "two lines", Whole: 9, Number: 0.5, Length: 500 * time.Millisecond, Choice: []string{"red"}, Flag: true,
		Placed: []place{{"one"}, {"two@venus"}, {"three"}}, Pairs: map[string]string{"a": "1", "b": "two"}}
	want.Times.P50 = 1500 * time.Microsecond
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestExcerpt checks that an error shows the line of a mistake without unprintable characters.
func TestExcerpt(t *testing.T) {
	_, err := Read("f.yaml", "thing", []byte("name: it\nflg:\ttrue # \u200b\n"), keysOfEveryForm(new(thing)))
	want := "f.yaml:2:1: unknown key flg (did you mean flag?)\n    flg:·true # ·\n    ^"
	if got := message(err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWrong(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an empty file":     {"", "f.yaml:1:1: the file is empty (want the keys of a thing, such as name)"},
		"two documents":     {"name: a\n---\nname: b\n", "f.yaml:2:1: another document begins here (want one thing in a file)"},
		"far too long":      {strings.Repeat("\n", MaxLines+1), "f.yaml:1:1: the file has 1001 lines and 1001 bytes (want at most 1000 and 65536)"},
		"an empty list":     {"name: a\nchoice: []\n", ""},
		"one that may not":  {"name: a\nplaced: []\n", "f.yaml:2:9: placed: the list is empty"},
		"many":              {"name: a\nwhole: many\n", ""},
		"alone":             {"name: a\npairs: {a: 1}\n", "f.yaml:1:1: text is missing: pairs are told in it"},
		"refused":           {"name: a\nplaced: one@mars\n", "f.yaml:2:9: placed: nobody is on mars"},
		"refused in a list": {"name: a\nplaced: [one, {name: two@mars}]\n", "f.yaml:2:15: placed: nobody is on mars"},
		"wrong, not asked":  {"name: a\nplaced: [{nam: two@mars}]\n", "f.yaml:2:10: name is missing: of it\nf.yaml:2:11: unknown key nam (did you mean name?)"},
		"in a mapping":      {"name: a\ntimes: {p50: 2s, p90: 1s}\n", "f.yaml:2:14: p50: 2s is more than 1s (want a duration from 0s to 1s)\nf.yaml:2:18: unknown key p90 (did you mean p50?)"},
		"wrong, not twice":  {"name: a\nchoice: [blue, blue]\n", "f.yaml:2:10: choice: blue is none of red, green\nf.yaml:2:16: choice: blue is none of red, green"},
		"twice":             {"name: a\nchoice: [red, red]\n", "f.yaml:2:15: choice: red comes twice"},
		"a long word":       {"name: " + strings.Repeat("é", 61) + "\n", "f.yaml:1:7: name: " + strings.Repeat("é", 60) + "... is no clean name (want small letters, digits and dashes, at most 40)"},
		"a tag":             {"name: a\nchoice: !x [red]\n", "f.yaml:2:9: choice: the tag !x is not understood here"},
		"a tag with a line": {"name: !<a%0Ab> a\n", `f.yaml:1:7: name: the tag !<a%0Ab> is not understood here`},
		"of a list, too":    {"name: a\nchoice: !<a%0Ab> [red]\n", `f.yaml:2:9: choice: the tag !<a%0Ab> is not understood here`},
		"no mapping":        {"name: a\ntimes: 5ms\n", "f.yaml:2:8: 5ms is no mapping (want keys such as p50, each with a value)"},
		"in its order":      {"flag: 1\nnumber: 2\n", "f.yaml:1:1: name is missing: of it\nf.yaml:1:7: flag: 1 is neither true nor false\nf.yaml:2:9: number: 2 is more than 1 (want 0 to 1)"},
	} {
		_, err := Read("f.yaml", "thing", []byte(c.text), keysOfEveryForm(new(thing)))
		if got := withoutExcerpts(message(err)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

var excerpts = regexp.MustCompile(`(?m)\n    .*$`)

func withoutExcerpts(text string) string { return excerpts.ReplaceAllString(text, "") }

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTexts(t *testing.T) {
	_, err := Read("f.yaml", "thing", []byte("name: it\nspan: 5\n"), keysOfEveryForm(new(thing)))
	want := []string{"span: 5 has no unit (want a duration from 1ms to 1h, such as 1ms)"}
	if diff := cmp.Diff(want, Texts(err)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPaths checks the position in an error message about a path of keys, such as times.p50. If the file lacks the
// path, the message must contain the position of the longest prefix that the file has.
func TestPaths(t *testing.T) {
	f, err := Read("f.yaml", "thing", []byte(whole), keysOfEveryForm(new(thing)))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		at     string
		stated bool
	}{
		"placed[1]":      {"10:15", true},
		"placed[2].name": {"10:33", true},
		"placed[2].nam":  {"10:26", false},
		"times.p50":      {"12:14", true},
		"name.x.y":       {"1:7", false},
		"choice[0]":      {"8:9", false}, // the single value of choice is read as a list with one entry
	} {
		one := newFile("f.yaml", nil)
		one.at = f.at
		one.Wrong(path, "x")
		if got := one.Err().Error(); got != "f.yaml:"+want.at+": x" || f.Stated(path) != want.stated {
			t.Errorf("%s: got %s, %v; want %s, %v", path, got, f.Stated(path), want.at, want.stated)
		}
	}
}

func TestTable(t *testing.T) {
	want := "| key | value | default | |\n|---|---|---|---|\n" +
		"| `name` | a clean name | required | of it |\n" +
		"| `text` | text | none | a line |\n" +
		"| `whole` | 1 to 9, or many | none | a whole number |\n" +
		"| `number` | 0 to 1 | none | a number |\n" +
		"| `span` | a duration from 1ms to 1h | none | a duration |\n" +
		"| `choice` | one of red, green, or a list | none | some of them |\n" +
		"| `flag` | true or false | false | whether |\n" +
		"| `placed` | a name, or a mapping, or a list | none | where |\n" +
		"| `pairs` | a mapping of names to values | none | any |\n" +
		"| `times` | a mapping: see below | none | times |\n"
	if diff := cmp.Diff(want, Table(keysOfEveryForm(new(thing)))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
