package serve

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/reports/format"
)

// view is what of a history is looked at. Its query is the whole of it, so that a link shows another what one sees.
type view struct {
	From, To time.Duration
	Client   string // a number, harness, or empty for all
	Key      string // empty for all

	until time.Duration // of the history
}

// narrowest is the least time that a window has.
const narrowest = time.Microsecond

// parseView reads a query. Times are milliseconds, with digits down to the nanosecond; what lies outside of the history is
// moved into it. Without times it is the standard view.
func parseView(q url.Values, until time.Duration, standard func() (from, to time.Duration)) (view, error) {
	v := view{Client: q.Get("client"), Key: q.Get("key"), until: max(until, narrowest)}
	if v.Client != "" && v.Client != harness {
		n, err := strconv.ParseInt(v.Client, 10, 32)
		if err != nil || n < 0 {
			return v, fmt.Errorf("client %q: want a number, or harness", clip(v.Client))
		}
		v.Client = strconv.FormatInt(n, 10)
	}
	if len(v.Key) > 1<<10 {
		return v, fmt.Errorf("key %q: it is longer than any key", clip(v.Key))
	}
	if q.Get("from") == "" && q.Get("to") == "" {
		v.From, v.To = standard()
		v.fit()
		return v, nil
	}
	v.To = v.until
	for i, into := range []*time.Duration{&v.From, &v.To} {
		name := []string{"from", "to"}[i]
		text := q.Get(name)
		if text == "" {
			continue
		}
		at, err := time.ParseDuration(text + "ms") // exact to the nanosecond: what a float would round is another window
		if err != nil || strings.Trim(text, "0123456789.") != "" {
			return v, fmt.Errorf("%s=%q: want milliseconds, such as 12.5", name, clip(text))
		}
		*into = min(at, histories.Forever)
	}
	if v.To <= v.From {
		return v, fmt.Errorf("from %s to %s: the end must lie after the beginning", ms(v.From), ms(v.To))
	}
	v.fit()
	return v, nil
}

// harness is what its client number is called in a query.
const harness = "harness"

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// ms writes a time of a history as milliseconds, whole to the nanosecond: it can be read back.
func ms(d time.Duration) string {
	return format.TrimZeros(fmt.Sprintf("%d.%06d", d/time.Millisecond, d%time.Millisecond))
}

// at writes a time of a history as milliseconds, to the microsecond, for people.
func at(d time.Duration) string { return ms(d.Round(time.Microsecond)) }

// fit moves the window into the history; one that is longer becomes the history.
func (v *view) fit() {
	width := min(max(v.To-v.From, narrowest), v.until)
	v.From = min(max(v.From, 0), v.until-width)
	v.To = v.From + width
}

// wants tells whether the filters let an operation through. What has no key, such as a fault, belongs to all.
func (v view) wants(client int32, key string) bool {
	switch {
	case v.Client != "" && v.Client != clientWord(client):
		return false
	case v.Key != "" && key != "" && v.Key != key:
		return false
	}
	return true
}

func clientWord(client int32) string {
	if client == histories.Harness {
		return harness
	}
	return strconv.Itoa(int(client))
}

// Query is the view as a query, in a form of its own: the same view has the same query.
func (v view) Query() string {
	q := url.Values{"from": {ms(v.From)}, "to": {ms(v.To)}}
	if v.Client != "" {
		q.Set("client", v.Client)
	}
	if v.Key != "" {
		q.Set("key", v.Key)
	}
	return "?" + q.Encode()
}

// at is the view moved to another time, to the microsecond where that makes no difference.
func (v view) at(from, to time.Duration) view {
	if to-from >= time.Millisecond {
		from, to = from.Truncate(time.Microsecond), to.Truncate(time.Microsecond)
	}
	v.From, v.To = from, to
	v.fit()
	return v
}

// The ways to move: each is a view again.

func (v view) In() view    { q := (v.To - v.From) / 4; return v.at(v.From+q, v.To-q) }
func (v view) Out() view   { h := (v.To - v.From) / 2; return v.at(max(0, v.From-h), v.To+h) }
func (v view) Left() view  { h := (v.To - v.From) / 2; return v.at(v.From-h, v.To-h) }
func (v view) Right() view { h := (v.To - v.From) / 2; return v.at(v.From+h, v.To+h) }
func (v view) Home() view  { return v.at(0, v.To-v.From) }
func (v view) End() view   { v.From, v.To = v.until-(v.To-v.From), v.until; return v }
func (v view) All() view   { v.From, v.To = 0, v.until; return v }

// around is the window in which something can be looked at with what lies about it.
func (v view) around(from, to time.Duration) view {
	from, to = min(max(from, 0), v.until), min(max(to, 0), v.until) // a file may say anything
	margin := max((to-from)/2, time.Millisecond/2)
	return v.at(max(0, from-margin), to+margin)
}
