package suites

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// cleanWord can be part of a folder's name anywhere; placedWord may name a deployment too.
const (
	cleanWord  = `^[a-z0-9][a-z0-9-]{0,39}$`
	placedWord = `^[a-z0-9][a-z0-9-]{0,39}(@[a-z0-9][a-z0-9-]{0,39})?$`
)

var isClean, isPlaced = regexp.MustCompile(cleanWord), regexp.MustCompile(placedWord)

// fewValues is how many values to choose from are listed in an error.
const fewValues = 8

// scalar tells what is wrong with a single value, and writes it in one way where there are several. It is empty where
// nothing is.
func (k key) scalar(n *yaml.Node) string {
	switch k.form {
	case aText:
		return k.text(n)
	case aName, aChoice, aLock:
		return k.word(n)
	case aWhole:
		return k.whole(n)
	case aNumber:
		return k.number(n)
	case aSpan:
		return k.span(n)
	case aFlag:
		if n.ShortTag() != "!!bool" {
			return fmt.Sprintf("%s is neither true nor false", told(n))
		}
	}
	return ""
}

// want is what may stand there, as errors have it.
func (k key) want() string {
	if len(k.values) > 0 && len(k.values) <= fewValues {
		return strings.Join(k.values, ", ")
	}
	switch k.form {
	case aWhole:
		want := fmt.Sprintf("%s to %d", plainly(k.min), k.top)
		if k.instead != "" {
			want += ", or " + k.instead
		}
		return want
	case aNumber:
		return fmt.Sprintf("%s to %s", plainly(k.min), plainly(k.max))
	case aSpan:
		return fmt.Sprintf("a duration from %s to %s", spelt(k.from), spelt(k.to))
	case aFlag:
		return "true or false"
	case aText:
		return "text"
	case aLock:
		return "a name, or name@deployment"
	}
	return "small letters, digits and dashes, at most 40"
}

// text is made one line: where lines end in a file means nothing.
func (k key) text(n *yaml.Node) string {
	line := strings.Join(strings.Fields(n.Value), " ")
	if strings.ContainsFunc(line, unicode.IsControl) {
		return fmt.Sprintf("%q has control characters (want plain text)", line)
	}
	n.SetString(line)
	n.Style = 0
	return ""
}

// word checks a name: one of those that are known, or where none are, one that is clean.
func (k key) word(n *yaml.Node) string {
	name, shape := n.Value, isClean
	if k.form == aLock {
		name, _, _ = strings.Cut(n.Value, "@")
		shape = isPlaced
	}
	known, clean := slices.Contains(k.values, name), shape.MatchString(n.Value)
	switch {
	case known && (clean || name == n.Value), k.values == nil && clean:
		return ""
	case known:
		return fmt.Sprintf("%s names no deployment (want %s@deployment)", told(n), name)
	case k.values == nil:
		return fmt.Sprintf("%s is no clean name (want %s)", told(n), k.want())
	case len(k.values) > fewValues:
		return fmt.Sprintf("%s is unknown%s", told(n), meant(name, k.values))
	}
	return fmt.Sprintf("%s is none of %s%s", told(n), k.want(), meant(name, k.values))
}

func (k key) whole(n *yaml.Node) string {
	if k.instead != "" && n.Value == k.instead {
		return ""
	}
	if n.ShortTag() != "!!int" {
		return fmt.Sprintf("%s is no whole number (want %s)", told(n), k.want())
	}
	var v uint64
	err := n.Decode(&v)
	switch {
	case strings.HasPrefix(n.Value, "-") || err == nil && v < uint64(k.min):
		return fmt.Sprintf("%s is less than %s (want %s)", told(n), plainly(k.min), k.want())
	case err != nil || v > k.top:
		return fmt.Sprintf("%s is more than %d (want %s)", told(n), k.top, k.want())
	}
	n.Value = strconv.FormatUint(v, 10)
	return ""
}

func (k key) number(n *yaml.Node) string {
	var v float64
	if tag := n.ShortTag(); tag != "!!int" && tag != "!!float" || n.Decode(&v) != nil {
		return fmt.Sprintf("%s is no number (want %s)", told(n), k.want())
	}
	switch {
	case v < k.min:
		return fmt.Sprintf("%s is less than %s (want %s)", told(n), plainly(k.min), k.want())
	case v > k.max:
		return fmt.Sprintf("%s is more than %s (want %s)", told(n), plainly(k.max), k.want())
	case v != v:
		return fmt.Sprintf("%s is no number (want %s)", told(n), k.want())
	}
	n.Value = plainly(v + 0) // -0 is 0
	return ""
}

func (k key) span(n *yaml.Node) string {
	d, err := time.ParseDuration(n.Value)
	tag := n.ShortTag()
	switch {
	case err != nil && (tag == "!!int" || tag == "!!float"):
		return fmt.Sprintf("%s has no unit (want %s, such as 1ms)", told(n), k.want())
	case err != nil:
		return fmt.Sprintf("%s is no duration (want %s, such as 1ms)", told(n), k.want())
	case d < k.from:
		return fmt.Sprintf("%s is less than %s (want %s)", told(n), spelt(k.from), k.want())
	case d > k.to:
		return fmt.Sprintf("%s is more than %s (want %s)", told(n), spelt(k.to), k.want())
	}
	n.SetString(d.String())
	return ""
}

// spelt writes a duration without the zeros at its end.
func spelt(d time.Duration) string {
	s := d.String()
	if d >= time.Minute && d%time.Minute == 0 {
		s = strings.TrimSuffix(s, "0s")
	}
	if d >= time.Hour && d%time.Hour == 0 {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// plainly writes a number without an exponent.
func plainly(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// tagged tells whether a type is stated in the file. It could say of 16 that it is text, or of text that it is bytes.
func tagged(n *yaml.Node) bool { return n.Style&yaml.TaggedStyle != 0 }

// told is a value as errors quote it: as it stands, in quotes where it has them, and cut where it is long.
func told(n *yaml.Node) string {
	const long = 60
	switch {
	case tagged(n):
		return "a value with the tag " + n.Tag
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	}
	value := []rune(n.Value)
	short := string(value[:min(long, len(value))])
	if len(value) > long {
		short += "..."
	}
	if n.Style != 0 || short == "" || strconv.Quote(short) != `"`+short+`"` {
		return strconv.Quote(short)
	}
	return short
}
