package yamlfile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"lockbench/internal/suggest"
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
func (k Key) scalar(n *Node) string {
	switch k.Form {
	case Text:
		return k.text(n)
	case Name, Choice, Placed:
		return k.word(n)
	case Whole:
		return k.whole(n)
	case Number:
		return k.number(n)
	case Span:
		return k.span(n)
	case Flag:
		if n.Kind != Bool {
			return fmt.Sprintf("%s is neither true nor false", told(n))
		}
	}
	return ""
}

// Want is what may stand there, as errors have it.
func (k Key) Want() string {
	if len(k.Values) > 0 && len(k.Values) <= fewValues {
		return strings.Join(k.Values, ", ")
	}
	switch k.Form {
	case Whole:
		want := fmt.Sprintf("%s to %d", Plainly(k.Min), k.Top)
		if k.Instead != "" {
			want += ", or " + k.Instead
		}
		return want
	case Number:
		return fmt.Sprintf("%s to %s", Plainly(k.Min), Plainly(k.Max))
	case Span:
		return fmt.Sprintf("a duration from %s to %s", Spelt(k.From), Spelt(k.To))
	case Flag:
		return "true or false"
	case Text:
		return "text"
	case Placed:
		return "a name, or name@deployment"
	}
	return "small letters, digits and dashes, at most 40"
}

// text is made one line: where lines end in a file means nothing.
func (k Key) text(n *Node) string {
	line := strings.Join(strings.Fields(n.Value), " ")
	if strings.ContainsFunc(line, unicode.IsControl) {
		return fmt.Sprintf("%q has control characters (want plain text)", line)
	}
	n.Value = line
	return ""
}

// word checks a name: one of those that are known, or where none are, one that is clean.
func (k Key) word(n *Node) string {
	name, shape := n.Value, isClean
	if k.Form == Placed {
		name, _, _ = strings.Cut(n.Value, "@")
		shape = isPlaced
	}
	known, clean := slices.Contains(k.Values, name), shape.MatchString(n.Value)
	switch {
	case known && (clean || name == n.Value), k.Values == nil && clean:
		return ""
	case known:
		return fmt.Sprintf("%s names no deployment (want %s@deployment)", told(n), name)
	case k.Values == nil:
		return fmt.Sprintf("%s is no clean name (want %s)", told(n), k.Want())
	case len(k.Values) > fewValues:
		return fmt.Sprintf("%s is unknown%s", told(n), suggest.Meant(name, k.Values))
	}
	return fmt.Sprintf("%s is none of %s%s", told(n), k.Want(), suggest.Meant(name, k.Values))
}

func (k Key) whole(n *Node) string {
	if k.Instead != "" && n.Value == k.Instead {
		return ""
	}
	if n.Kind != Integer {
		return fmt.Sprintf("%s is no whole number (want %s)", told(n), k.Want())
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(n.Value, "+"), 0, 64)
	less, more := strings.HasPrefix(n.Value, "-") || err == nil && v < uint64(k.Min), err != nil || v > k.Top
	return k.within(n, less, more, Plainly(k.Min), fmt.Sprint(k.Top), strconv.FormatUint(v, 10))
}

func (k Key) number(n *Node) string {
	v, err := strconv.ParseFloat(strings.NewReplacer(".inf", "inf", ".nan", "nan").Replace(strings.ToLower(n.Value)), 64)
	if whole, e := strconv.ParseInt(n.Value, 0, 64); e == nil {
		v, err = float64(whole), nil // in another base
	}
	if n.Kind != Integer && n.Kind != Float || err != nil || v != v {
		return fmt.Sprintf("%s is no number (want %s)", told(n), k.Want())
	}
	return k.within(n, v < k.Min, v > k.Max, Plainly(k.Min), Plainly(k.Max), Plainly(v+0)) // -0 is 0
}

func (k Key) span(n *Node) string {
	d, err := time.ParseDuration(n.Value)
	switch {
	case err != nil && (n.Kind == Integer || n.Kind == Float):
		return fmt.Sprintf("%s has no unit (want %s, such as 1ms)", told(n), k.Want())
	case err != nil:
		return fmt.Sprintf("%s is no duration (want %s, such as 1ms)", told(n), k.Want())
	}
	return k.within(n, d < k.From, d > k.To, Spelt(k.From), Spelt(k.To), d.String())
}

// within gives a value its normal form unless it is out of its bounds.
func (k Key) within(n *Node, less, more bool, low, high, normal string) string {
	switch {
	case less:
		return fmt.Sprintf("%s is less than %s (want %s)", told(n), low, k.Want())
	case more:
		return fmt.Sprintf("%s is more than %s (want %s)", told(n), high, k.Want())
	}
	n.Value = normal
	return ""
}

// Spelt writes a duration without the zeros at its end.
func Spelt(d time.Duration) string {
	s := d.String()
	if d >= time.Minute && d%time.Minute == 0 {
		s = strings.TrimSuffix(s, "0s")
	}
	if d >= time.Hour && d%time.Hour == 0 {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Plainly writes a number without an exponent.
func Plainly(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// single reports whether a node is a value without parts.
func (n *Node) single() bool { return n.Kind <= Bool }

// told is a value as errors quote it: as it stands, in quotes where it has them.
func told(n *Node) string {
	switch {
	case n.Kind == Map:
		return "a mapping"
	case n.Kind == List:
		return "a list"
	case n.Kind == Alias:
		return "an alias"
	case n.Quoted:
		return strconv.Quote(short(n.Value))
	}
	return plain(n.Value)
}

// plain is what stands in a file as a terminal may see it: cut where it is long, in quotes unless it has nothing to hide.
func plain(text string) string {
	text = short(text)
	if text == "" || strconv.Quote(text) != `"`+text+`"` {
		return strconv.Quote(text)
	}
	return text
}

func short(text string) string {
	const long = 60
	if runes := []rune(text); len(runes) > long {
		return string(runes[:long]) + "..."
	}
	return text
}
