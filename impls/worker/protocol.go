// Package worker connects lockbench to a lock in another program. Such a program is called a worker: it takes the place of
// one process, and exchanges JSON lines with lockbench on its standard input and output.
// docs/reference/worker-protocol.md describes the lines. Serve serves the built-in locks. A worker for another lock uses the
// library for its language; the one for Go is the module in the folder go.
package worker

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/impls"
)

// Version is the version of the protocol that this package speaks. Oldest is the oldest version that lockbench accepts from
// a worker.
const (
	Version = 2
	Oldest  = 1
)

// MaxLine is the maximum length of a line in bytes, in either direction.
const MaxLine = 1 << 20

// Open is the first line that a worker reads. The URLs are not on the command line, because they may contain passwords.
type Open struct {
	Version  int               `json:"lockbench_worker"`
	Describe bool              `json:"describe,omitempty"` // the worker must only describe the lock; Nodes is empty and no request follows
	Lock     string            `json:"lock,omitempty"`     // name of the lock, for a program with several locks
	TTLMS    int64             `json:"ttl_ms,omitempty"`   // lease that the acquires of the trial will request
	Nodes    []string          `json:"nodes"`
	CAFile   string            `json:"ca_file,omitempty"`
	Prefix   string            `json:"prefix"` // required prefix of every key in the store
	Process  int               `json:"process"`
	Seed     uint64            `json:"seed"`
	Params   map[string]string `json:"params,omitempty"`
	Resource string            `json:"resource"` // base URL of the guarded resource
}

// Ready is the first line that a worker writes. It contains the name, store, capabilities and expectations of the lock.
type Ready struct {
	Version      int           `json:"lockbench_worker"`
	Name         string        `json:"name"`
	Doc          string        `json:"doc,omitempty"`
	Store        string        `json:"store,omitempty"` // name of the store; "": redis; "none": no store
	Deployment   string        `json:"deployment,omitempty"`
	Capabilities []string      `json:"capabilities,omitempty"`
	Segments     []string      `json:"segments,omitempty"` // suffixes that are added to a key to name its segments
	BackOffMS    int64         `json:"backoff_ms,omitempty"`
	ShortestMS   int64         `json:"shortest_lease_ms,omitempty"` // shortest lease that the lock supports
	StepMS       int64         `json:"lease_step_ms,omitempty"`     // every lease is a multiple of this duration
	StartMS      int64         `json:"start_ms,omitempty"`          // longest time from the start of the process to its first line
	Expectations []Expectation `json:"expect,omitempty"`
	Error        string        `json:"error,omitempty"` // why the worker cannot start
}

// Expectation states the expected result of a property.
type Expectation struct {
	Property string `json:"property"`
	Fault    string `json:"fault,omitempty"`    // name of the fault; "": no fault
	Workload string `json:"workload,omitempty"` // name of the workload; "": all workloads except unusual ones, such as "misuse"
	Expected string `json:"verdict"`            // holds, violated or unspecified
	Because  string `json:"because,omitempty"`
}

// OfLock converts the expectation to an impls.Expectation.
func (e Expectation) OfLock() (impls.Expectation, error) {
	var expected histories.Expected
	err := expected.UnmarshalText([]byte(e.Expected))
	return impls.Expectation{Property: e.Property, Workload: e.Workload, Fault: cmp.Or(e.Fault, "none"), Expected: expected, Because: e.Because}, err
}

// The optional capabilities of a worker. All workers support acquire, release, ping, read, write and append.
const (
	CanRenew     = "renew"     // the worker can renew a hold when requested
	CanProbe     = "probe"     // the worker can read the holder of a key from the store
	CanRenewSelf = "watchdog"  // the lock renews its holds automatically; the worker need not report the renewals
	CanReenter   = "reentrant" // a holder can acquire its lock again
	CanTellLoss  = "lost"
	CanFence     = "fencing"   // each grant has a higher fencing token than all earlier grants
	CanNotify    = "notifies"  // a release wakes a waiter
	CanWait      = "waits"     // an acquire waits inside the library, so the time of the granted request is unknown
	CanCancel    = "cancel"    // an acquire ends soon after a cancel request
	CanRerelease = "rerelease" // a release may be repeated if its outcome is unknown
	IsSession    = "session"   // holds end with the session of the process
)

// Request is a line that a worker reads after the first line. The field Do determines which other fields are set.
type Request struct {
	ID int64  `json:"id"`
	Do string `json:"do"` // name of the operation, such as acquire

	Key       string `json:"key,omitempty"`
	Owner     string `json:"owner,omitempty"`
	TTLMS     int64  `json:"ttl_ms,omitempty"`
	WaitMS    int64  `json:"wait_ms,omitempty"` // timeout of an acquire in ms; 0: try once; -1: no timeout
	KeepAlive bool   `json:"keep_alive,omitempty"`

	Hold     int64  `json:"hold,omitempty"` // id of the acquire that created the hold
	Token    string `json:"token,omitempty"`
	Fence    int64  `json:"fence,omitempty"`
	Depth    int    `json:"depth,omitempty"`
	Validity int64  `json:"validity_ns,omitempty"`
	Value    int64  `json:"value,omitempty"` // value to write
	Time     bool   `json:"time,omitempty"`  // whether the reply to a ping must state the wall clock of the process
}

// NoStore is the store of a lock that uses no servers.
const NoStore = "none"

// Reasons for a definite refusal.
const (
	Busy    = "busy"     // acquire: another client holds the key
	NotHeld = "not held" // release, renew: the store no longer has the hold for this owner
	Stale   = "stale"    // read, write or append: the resource refused it, because it has seen a higher fencing token
)

// Line is a line that a worker writes after the first line. It is either a reply with the id of the request, or a notice.
type Line struct {
	ID      int64  `json:"id,omitempty"`
	OK      bool   `json:"ok,omitempty"`
	Refused string `json:"refused,omitempty"` // reason why the request certainly had no effect
	Error   string `json:"error,omitempty"`   // indeterminate error: the request may have had an effect

	Key       string `json:"key,omitempty"` // key of a grant, if it differs from the requested key
	Token     string `json:"token,omitempty"`
	Fence     int64  `json:"fence,omitempty"`
	Depth     int    `json:"depth,omitempty"`
	SentAfter int64  `json:"sent_after_ns,omitempty"`
	Validity  int64  `json:"validity_ns,omitempty"` // promised duration of the hold; 0: unknown; -1: no end
	Left      int64  `json:"left_ns,omitempty"`     // remaining lease, read by a probe; -1: the lease does not expire
	Value     int64  `json:"value,omitempty"`       // value that was read
	TimeMS    int64  `json:"time_ms,omitempty"`     // wall clock of the process, as Unix time in milliseconds

	Lost    int64 `json:"lost,omitempty"`       // in a notice of a lost hold: id of the acquire that created the hold
	Renewed int64 `json:"renewed,omitempty"`    // in a notice of a renewal: id of the acquire that created the hold
	Elapsed int64 `json:"elapsed_ns,omitempty"` // time from receiving the acquire until the hold was lost or the renewal was sent
}

// Grant returns the grant to which the request refers.
func (r *Request) Grant() impls.Grant {
	return impls.Grant{Key: r.Key, Owner: r.Owner, Token: r.Token, Fence: r.Fence, Depth: r.Depth,
		Validity: time.Duration(r.Validity), Ref: r.Hold}
}

// RequestOn returns a request for the hold that the grant g created. The kind of the request (parameter do) is "release" or
// "renew".
func RequestOn(do string, g impls.Grant) Request {
	return Request{Do: do, Key: g.Key, Owner: g.Owner, Token: g.Token, Fence: g.Fence, Depth: g.Depth,
		Validity: int64(g.Validity), Hold: g.Ref}
}

// speakOnly is the hint that follows an error about an invalid line.
const speakOnly = "a worker writes only JSON lines to its standard output, and everything else to its standard error"

// longest is the maximum of any duration in a line from a worker. The limit prevents an overflow when durations are added.
const longest = int64(10 * 365 * 24 * time.Hour)

// ReadReady parses the first line of a worker. An unknown field is an error, because it may be a misspelt capability.
func ReadReady(text []byte) (Ready, error) {
	var r Ready
	if err := strictly(text, &r); err != nil {
		return r, fmt.Errorf("parse its first line (%w): %s; %s", err, quoted(text), speakOnly)
	}
	switch {
	case r.Error != "":
		return r, fmt.Errorf("the worker cannot start: %s", r.Error)
	case r.Version < Oldest || r.Version > Version:
		return r, fmt.Errorf(`it speaks version %d of the protocol, and this lockbench versions %d to %d ("lockbench_worker":%d): %s`,
			r.Version, Oldest, Version, Version, quoted(text))
	case r.Name == "":
		return r, fmt.Errorf(`its first line names no lock: want "name":"..."; it is %s`, quoted(text))
	case !nameable.MatchString(r.Name):
		return r, fmt.Errorf("its name is %s, under which results are stored: want at most 60 letters, digits, dots, hyphens and underscores, the first a letter or digit", quoted([]byte(r.Name)))
	}
	for name, ms := range map[string]int64{"backoff_ms": r.BackOffMS, "shortest_lease_ms": r.ShortestMS, "lease_step_ms": r.StepMS, "start_ms": r.StartMS} {
		if ms < 0 || ms > longest/int64(time.Millisecond) {
			return r, fmt.Errorf(`its first line states "%s":%d, which is negative or too long`, name, ms)
		}
	}
	for _, c := range r.Capabilities {
		if !slices.Contains(capabilities(), c) {
			return r, fmt.Errorf("its first line names the capability %q, which is unknown (known: %s)", c, strings.Join(capabilities(), ", "))
		}
	}
	for _, e := range r.Expectations {
		if _, err := e.OfLock(); err != nil || e.Property == "" {
			return r, fmt.Errorf("an expectation in its first line has the verdict %q and the property %q: want holds, violated or unspecified, and a property", e.Expected, e.Property)
		}
	}
	return r, nil
}

// nameable matches names that are valid as folder names on all systems.
var nameable = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$`)

func capabilities() []string {
	return []string{CanRenew, CanProbe, CanRenewSelf, CanReenter, CanTellLoss, CanFence, CanNotify, CanWait, CanCancel, CanRerelease, IsSession}
}

// ReadLine parses any line of a worker after the first. The line must be a reply, a notice of a loss, or a notice of a
// renewal. A reply or renewal must have exactly one outcome. All times and depths must be within bounds.
func ReadLine(text []byte) (Line, error) {
	var l Line
	if err := strictly(text, &l); err != nil {
		return l, fmt.Errorf("parse its line %s (%w); %s", quoted(text), err, speakOnly)
	}
	if why := l.wrong(); why != "" {
		return l, fmt.Errorf("it wrote %s, %s", quoted(text), why)
	}
	return l, nil
}

// wrong returns the reason why a line is invalid, or "" if the line is valid.
func (l *Line) wrong() string {
	abouts := count(l.ID != 0, l.Lost != 0, l.Renewed != 0)
	outcomes := count(l.OK, l.Refused != "", l.Error != "")
	switch {
	case abouts == 0:
		return `which has no id: a reply repeats the "id" of its request`
	case abouts > 1 || l.ID < 0 || l.Lost < 0 || l.Renewed < 0:
		return `which has more than one subject: want one of "id", "lost" and "renewed", more than 0`
	case l.Lost == 0 && outcomes == 0:
		return `which has no outcome: want "ok":true, "refused":"..." or "error":"..."`
	case outcomes > 1 || l.Lost != 0 && outcomes > 0:
		return `which has too many outcomes: want one of "ok", "refused" and "error", and none of a loss`
	case l.Elapsed < 0 || l.SentAfter < 0 || l.Validity < -1 || l.Left < -1 || l.Depth < 0 || l.Fence < 0 || l.TimeMS < 0:
		return "where a time, a depth or a token is negative"
	case max(l.Elapsed, l.SentAfter, l.Validity, l.Left) > longest:
		return "where a time is longer than ten years: times are in nanoseconds"
	case l.Depth > math.MaxUint16:
		return fmt.Sprintf("where the depth is more than %d", math.MaxUint16)
	}
	return ""
}

func count(these ...bool) (n int) {
	for _, is := range these {
		if is {
			n++
		}
	}
	return n
}

// plain returns an error of encoding/json in words that do not mention Go.
func plain(err error) error {
	var form *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("the field %q does not take a %s", kind.Field, kind.Value)
	case errors.As(err, &form), errors.As(err, &kind), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("want a JSON object")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return plain(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value on a line")
	}
	return nil
}

func quoted(text []byte) string {
	const most = 120
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
