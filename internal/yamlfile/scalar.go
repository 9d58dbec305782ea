package yamlfile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/internal/suggest"
	"lockbench/reports/format"
)

// cleanWord matches names that are safe as a part of a folder's name. placedWord also matches name@deployment.
const (
	cleanWord  = `^[a-z0-9][a-z0-9-]{0,39}$`
	placedWord = `^[a-z0-9][a-z0-9-]{0,39}(@[a-z0-9][a-z0-9-]{0,39})?$`
)

var isClean, isPlaced = regexp.MustCompile(cleanWord), regexp.MustCompile(placedWord)

// isNumber matches texts that begin like a number, but not words such as inf.
var isNumber = regexp.MustCompile(`^[-+]?(\.?[0-9]|\.inf$|\.nan$)`)

const fewValues = 8 // maximum number of values listed in an error

// Want describes the valid values of the key, for error messages.
func (k Key) Want() string {
	if len(k.Values) > 0 && len(k.Values) <= fewValues {
		return strings.Join(k.Values, ", ")
	}
	switch k.Form {
	case Whole:
		return fmt.Sprintf("%s to %d", Plainly(k.Min), k.Top) + lo.Ternary(k.Instead == "", "", ", or "+k.Instead)
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

// oneLine replaces the line ends of a text by spaces.
func oneLine(text string) (string, error) {
	line := strings.Join(strings.Fields(text), " ")
	if strings.ContainsFunc(line, format.Hidden) {
		return "", fmt.Errorf("%q has hidden characters (want plain text)", line)
	}
	return line, nil
}

// word checks that a name is one of Values or, if Values is nil, matches the pattern of names.
func (k Key) word(s scalar) error {
	name, shape := s.text, isClean
	if k.Form == Placed {
		name, _, _ = strings.Cut(s.text, "@")
		shape = isPlaced
	}
	known, clean := slices.Contains(k.Values, name), shape.MatchString(s.text)
	switch {
	case known && (clean || name == s.text), k.Values == nil && clean:
		return nil
	case known:
		return fmt.Errorf("%v names no deployment (want %s@deployment)", s, name)
	case k.Values == nil:
		return fmt.Errorf("%v is no clean name (want %s)", s, k.Want())
	case len(k.Values) > fewValues:
		return fmt.Errorf("%v is unknown%s", s, suggest.Meant(name, k.Values))
	}
	return fmt.Errorf("%v is none of %s%s", s, k.Want(), suggest.Meant(name, k.Values))
}

func (k Key) whole(s scalar) (string, error) {
	if k.Instead != "" && s.text == k.Instead {
		return s.text, nil
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(s.text, "+"), 0, 64)
	below, _ := strconv.ParseInt(s.text, 0, 64)
	if s.quoted || err != nil && below >= 0 {
		return "", fmt.Errorf("%v is no whole number (want %s)", s, k.Want())
	}
	return strconv.FormatUint(v, 10), k.within(s, below < 0 || v < uint64(k.Min), v > k.Top, Plainly(k.Min), fmt.Sprint(k.Top))
}

func (k Key) number(s scalar) (string, error) {
	text := strings.ToLower(s.text)
	v, err := strconv.ParseFloat(strings.NewReplacer(".inf", "inf", ".nan", "nan").Replace(text), 64)
	if whole, e := strconv.ParseInt(text, 0, 64); e == nil {
		v, err = float64(whole), nil // ParseInt accepts numbers in other bases too, such as 0x1
	}
	if s.quoted || !isNumber.MatchString(text) || err != nil || v != v {
		return "", fmt.Errorf("%v is no number (want %s)", s, k.Want())
	}
	return Plainly(v + 0), k.within(s, v < k.Min, v > k.Max, Plainly(k.Min), Plainly(k.Max)) // adding 0 turns -0 into 0
}

func (k Key) span(s scalar) (string, error) {
	d, err := time.ParseDuration(s.text)
	if err != nil {
		_, number := strconv.ParseFloat(s.text, 64)
		return "", fmt.Errorf("%v %s (want %s, such as 1ms)", s, lo.Ternary(number == nil, "has no unit", "is no duration"), k.Want())
	}
	return d.String(), k.within(s, d < k.From, d > k.To, Spelt(k.From), Spelt(k.To))
}

func (k Key) within(s scalar, less, more bool, low, high string) error {
	switch {
	case less:
		return fmt.Errorf("%v is less than %s (want %s)", s, low, k.Want())
	case more:
		return fmt.Errorf("%v is more than %s (want %s)", s, high, k.Want())
	}
	return nil
}

// Spelt formats a duration without trailing zero units.
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

// Plainly formats a number without an exponent.
func Plainly(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
