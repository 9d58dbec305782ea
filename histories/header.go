package histories

import (
	"errors"
	"fmt"
	"time"
)

// Version is the version of the history format that this package writes, and the newest that it reads.
const Version = 2

// Header is the first line of a history: the configuration of the trial and its expectations. Only Version is required.
type Header struct {
	Version    int       `json:"lockbench"`
	Run        string    `json:"run,omitempty"`
	Started    time.Time `json:"started,omitzero"`
	Lock       string    `json:"lock,omitempty"`
	Deployment string    `json:"deployment,omitempty"`
	Workload   string    `json:"workload,omitempty"`
	Fault      string    `json:"fault,omitempty"`
	Server     string    `json:"server,omitempty"` // product and version of the store, and how it was started

	Clients   int               `json:"clients,omitempty"`
	Processes int               `json:"processes,omitempty"`
	Simulated bool              `json:"simulated_processes,omitempty"` // whether the processes were simulated by lock instances in a single process
	Seed      uint64            `json:"seed,omitempty"`
	Params    map[string]string `json:"params,omitempty"`

	TTL         Nanos `json:"ttl_ns,omitempty"`         // lease that clients request
	LeastGrant  Nanos `json:"least_grant_ns,omitempty"` // shortest lease that a grant of a free key may promise; 0 means that it is unknown
	Bound       Nanos `json:"bound_ns,omitempty"`       // maximum time until the key of a dead holder is free, as promised by the lock; 0 means the TTL
	BackOff     Nanos `json:"backoff_ns,omitempty"`     // maximum delay between two tries of a waiting client
	Exact       bool  `json:"exact_try,omitempty"`      // the lock promises to refuse a try (busy) only while a client holds the key
	Notifies    bool  `json:"notifies,omitempty"`       // whether the store notifies waiters of a release
	ReportsLoss bool  `json:"reports_loss,omitempty"`   // whether the lock reports the loss of a hold
	CleansUp    bool  `json:"cleans_up,omitempty"`      // whether the lock removes what an abandoned acquire left in the store
	SkipsDead   bool  `json:"skips_dead,omitempty"`     // whether a waiter whose process has ended delays no other waiter
	ChecksLease bool  `json:"checks_lease,omitempty"`   // whether the lock refuses a grant whose lease ended before the acquire returns
	Slack       Nanos `json:"slack_ns,omitempty"`       // allowance for clock error; 0 means 1 % of the TTL + 2 ms

	Marks          bool  `json:"marks,omitempty"`           // whether the history has marks; a mark is a time up to which the history is complete
	Stall          Nanos `json:"stall_ns,omitempty"`        // longest pause of the program that recorded the history; a mark may state a longer pause
	WaitsInside    bool  `json:"waits,omitempty"`           // whether the lock itself waits for a grant; the lease then counts from the call, and may have expired when the grant is received
	SilentRenewals bool  `json:"silent_renewals,omitempty"` // whether the lock may renew holds without a record of the renewals in the history

	// Uncertainty is the largest uncertainty of the clocks, if several machines recorded the history. Each hold is shortened by it, and
	// only exclusion and fencing can be judged. It is 0 if one clock stamped all operations.
	Uncertainty Nanos `json:"uncertainty_ns,omitempty"`

	ObservedStep Nanos `json:"observed_step_ns,omitempty"` // maximum error of an observed lease: the true lease may be shorter by this time; 0 if the store was not observed

	Expectations []Expectation `json:"expectations,omitempty"`
}

// Expectation states whether a property is expected to hold in this history, and why.
type Expectation struct {
	Property string   `json:"property"`
	Expected Expected `json:"expected"`
	Because  string   `json:"because,omitempty"`
}

// Expected is the expected verdict on a property.
type Expected uint8

const (
	Unspecified  Expected = iota // no expectation: the verdict is only reported
	ToHold                       // expected to hold: a violation fails the check
	ToBeViolated                 // expected to be violated: a known defect that the judge must detect
)

var expectedNames = [...]string{"unspecified", "holds", "violated"}

func (e Expected) String() string { return NameOf(expectedNames[:], int(e)) }

func (e Expected) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText parses an Expected. It also accepts the names open and breaks, which earlier versions wrote.
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

// Nanos is a duration in a header. It is written in nanoseconds. It is also read from text such as "5s".
type Nanos time.Duration

// D returns n as a time.Duration.
func (n Nanos) D() time.Duration { return time.Duration(n) }

// UnmarshalJSON parses a duration in nanoseconds or as text such as "5s".
func (n *Nanos) UnmarshalJSON(text []byte) error {
	d, err := parseDuration(string(text))
	*n = Nanos(d)
	return err
}

// SlackOr returns the allowance for clock error: Slack if it is set, otherwise 1 % of the TTL + 2 ms.
func (h *Header) SlackOr() time.Duration {
	if h.Slack > 0 {
		return h.Slack.D()
	}
	return h.TTL.D()/100 + 2*time.Millisecond
}

// FreedWithin returns the maximum time for which a waiting client may be refused after the holder has ended. It is the
// sum of Bound (or else TTL), BackOff, and 500 ms.
func (h *Header) FreedWithin() time.Duration {
	bound := h.Bound.D()
	if bound == 0 {
		bound = h.TTL.D()
	}
	return bound + h.BackOff.D() + 500*time.Millisecond
}

// mostExcess limits the result of Excess. Even a very long lease therefore extends the time limits for waiting clients
// by at most one minute.
const mostExcess = time.Minute

// Excess returns the time by which a granted lease is longer than the requested one, from 0 to one minute. The time
// limits for waiting clients are extended by this time, because a lock may round leases up.
func Excess(granted, requested time.Duration) time.Duration {
	return min(max(0, granted-requested), mostExcess)
}

// Expectation returns the expectation about a property. If the header contains none, the field Expected of the result is
// Unspecified.
func (h *Header) Expectation(property string) Expectation {
	for _, c := range h.Expectations {
		if c.Property == property {
			return c
		}
	}
	return Expectation{Property: property}
}

// scanObject parses a JSON object whose values are strings or integers. It calls visit with each name and the JSON text
// of each value. It is about ten times as fast as encoding/json.
func scanObject(text []byte, visit func(name, value []byte) error) error {
	s := scanner{text: text}
	if !s.accept('{') {
		return errors.New("want a JSON object on one line")
	}
	for first := true; ; first = false {
		if s.accept('}') {
			break
		}
		if !first && !s.accept(',') {
			return s.wanted("a comma")
		}
		name, ok := s.str()
		if !ok {
			return s.wanted("a field name in quotes")
		}
		if !s.accept(':') {
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

func (s *scanner) accept(c byte) bool {
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
