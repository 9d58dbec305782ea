package histories

import (
	"errors"
	"fmt"
	"time"
)

// Version is the version of the format that this package writes, and the newest that it reads.
const Version = 2

// Header is the first line of a history: what was run, and what was expected of it. Only the version is
// required, so that a history can be written by hand.
type Header struct {
	Version    int       `json:"lockbench"`
	Run        string    `json:"run,omitempty"`
	Started    time.Time `json:"started,omitzero"`
	Lock       string    `json:"lock,omitempty"`
	Deployment string    `json:"deployment,omitempty"`
	Workload   string    `json:"workload,omitempty"`
	Fault      string    `json:"fault,omitempty"`
	Server     string    `json:"server,omitempty"` // product, version and how it was brought up

	Clients   int               `json:"clients,omitempty"`
	Processes int               `json:"processes,omitempty"`
	Simulated bool              `json:"simulated_processes,omitempty"` // the processes were locks within one process
	Seed      uint64            `json:"seed,omitempty"`
	Params    map[string]string `json:"params,omitempty"`

	TTL     Nanos `json:"ttl_ns,omitempty"`     // the lease that was asked for
	Bound   Nanos `json:"bound_ns,omitempty"`   // within which the lock claims to free a dead holder's key; 0: the TTL
	BackOff Nanos `json:"backoff_ns,omitempty"` // the longest pause between two tries of a waiter
	Exact   bool  `json:"exact_try,omitempty"`  // the lock claims to answer "busy" only while somebody holds
	Slack   Nanos `json:"slack_ns,omitempty"`   // clock error allowed for in every promise; 0: 1 % of the TTL + 2 ms

	Expectations []Expectation `json:"expectations,omitempty"`
}

// Expectation states how one property is expected to come out in this history, and why.
type Expectation struct {
	Property string   `json:"property"`
	Expected Expected `json:"expected"`
	Because  string   `json:"because,omitempty"`
}

// Expected is how a property is expected to come out.
type Expected uint8

const (
	Unspecified  Expected = iota // the result is reported and decides nothing
	ToHold                       // a violation fails the check
	ToBeViolated                 // a known defect, which the check has to detect
)

var expectedNames = [...]string{"unspecified", "holds", "violated"}

func (e Expected) String() string { return NameOf(expectedNames[:], int(e)) }

// MarshalText returns the name used in files.
func (e Expected) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText parses a name, also one of those that files had before: open and breaks.
func (e *Expected) UnmarshalText(text []byte) error {
	switch string(text) {
	case "open":
		*e = Unspecified
	case "breaks":
		*e = ToBeViolated
	default:
		return Parse(e, expectedNames[:], text, "expectation")
	}
	return nil
}

// Nanos is a duration in a header: written as nanoseconds, read also as "5s".
type Nanos time.Duration

// D is the duration.
func (n Nanos) D() time.Duration { return time.Duration(n) }

// UnmarshalJSON reads nanoseconds or a duration such as "5s".
func (n *Nanos) UnmarshalJSON(text []byte) error {
	d, err := parseDuration(string(text))
	*n = Nanos(d)
	return err
}

// SlackOr is the clock error to allow for: what the header states, or 1 % of the TTL and 2 ms.
func (h *Header) SlackOr() time.Duration {
	if h.Slack > 0 {
		return h.Slack.D()
	}
	return h.TTL.D()/100 + 2*time.Millisecond
}

// FreedWithin is the longest a key may stay unusable once its holder is gone and somebody keeps trying:
// the lock's bound (the TTL where it declares none), its longest back-off, and 500 ms.
func (h *Header) FreedWithin() time.Duration {
	bound := h.Bound.D()
	if bound == 0 {
		bound = h.TTL.D()
	}
	return bound + h.BackOff.D() + 500*time.Millisecond
}

// Expectation returns what is expected of a property: unspecified unless the header says.
func (h *Header) Expectation(property string) Expectation {
	for _, c := range h.Expectations {
		if c.Property == property {
			return c
		}
	}
	return Expectation{Property: property}
}

// scanObject walks a flat JSON object: strings and whole numbers, no nesting. It calls visit with each
// name (without quotes) and the text of its value. Lines of histories are nothing else, and a general
// decoder takes ten times as long.
func scanObject(text []byte, visit func(name, value []byte) error) error {
	s := scanner{text: text}
	if !s.take('{') {
		return errors.New("want a JSON object on one line")
	}
	for first := true; ; first = false {
		if s.take('}') {
			break
		}
		if !first && !s.take(',') {
			return s.wanted("a comma")
		}
		name, ok := s.str()
		if !ok {
			return s.wanted("a field name in quotes")
		}
		if !s.take(':') {
			return s.wanted("a colon")
		}
		value, ok := s.str()
		if !ok {
			value, ok = s.number()
		}
		if !ok {
			return s.wanted("a string or a whole number")
		}
		if err := visit(name[1:len(name)-1], value); err != nil {
			return err
		}
	}
	if s.space(); s.at != len(s.text) {
		return s.wanted("the end of the line")
	}
	return nil
}

type scanner struct {
	text []byte
	at   int
}

func (s *scanner) wanted(what string) error {
	return fmt.Errorf("want %s at column %d", what, s.at+1)
}

func (s *scanner) space() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

func (s *scanner) take(c byte) bool {
	s.space()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) str() ([]byte, bool) {
	s.space()
	start := s.at
	if start >= len(s.text) || s.text[start] != '"' {
		return nil, false
	}
	for i := start + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '\\':
			i++
		case c == '"':
			s.at = i + 1
			return s.text[start:s.at], true
		case c < ' ':
			return nil, false
		}
	}
	return nil, false
}

func (s *scanner) number() ([]byte, bool) {
	s.space()
	start := s.at
	if s.at < len(s.text) && s.text[s.at] == '-' {
		s.at++
	}
	digits := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	return s.text[start:s.at], s.at > digits
}
