package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// speakOnly is what to tell whoever wrote something else to the standard output.
const speakOnly = "a worker writes nothing but JSON lines to its standard output, and everything else to its standard error"

// longest bounds every time that a worker states, so that sums of them stay numbers. Nobody waits for it.
const longest = int64(10 * 365 * 24 * time.Hour)

// ReadReady reads the first line of a worker. An unknown field is an error: a typing error must not pass for a lock that can do
// less.
func ReadReady(text []byte) (Ready, error) {
	var r Ready
	if err := strictly(text, &r); err != nil {
		return r, fmt.Errorf("its first line is not the protocol's (%w): %s; %s", err, quoted(text), speakOnly)
	}
	switch {
	case r.Error != "":
		return r, fmt.Errorf("it cannot work: %s", r.Error)
	case r.Version != Version:
		return r, fmt.Errorf(`it speaks version %d of the protocol, and this lockbench version %d ("lockbench_worker":%d): %s`, r.Version, Version, Version, quoted(text))
	case r.Name == "":
		return r, fmt.Errorf(`its first line names no lock: want "name":"..."; it is %s`, quoted(text))
	case !nameable.MatchString(r.Name):
		return r, fmt.Errorf("it calls itself %s, and results are kept under that name: want at most 60 letters, digits, dots, hyphens and underscores, the first a letter or digit", quoted([]byte(r.Name)))
	case r.BackOffMS < 0 || r.BackOffMS > longest/int64(time.Millisecond):
		return r, fmt.Errorf(`its first line states "backoff_ms":%d, which is no time to wait`, r.BackOffMS)
	}
	for _, c := range r.Capabilities {
		if !slices.Contains(capabilities(), c) {
			return r, fmt.Errorf("its first line names the capability %q, which is unknown: there are %s", c, strings.Join(capabilities(), ", "))
		}
	}
	for _, e := range r.Expect {
		if _, err := e.Expectation(); err != nil || e.Property == "" {
			return r, fmt.Errorf("its first line expects %q of %q: want a property, and holds, breaks or open", e.Verdict, e.Property)
		}
	}
	return r, nil
}

// nameable is a name that a folder can have anywhere.
var nameable = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$`)

func capabilities() []string {
	return []string{CanRenew, CanProbe, CanRenewSelf, CanReenter, CanTellLoss, CanFence}
}

// ReadLine reads any other line of a worker, as strictly: exactly one of a reply, a loss and a renewal; exactly one outcome,
// which a loss does not have; times and depths within bounds.
func ReadLine(text []byte) (Line, error) {
	var l Line
	if err := strictly(text, &l); err != nil {
		return l, fmt.Errorf("it wrote %s, which is no line of the protocol (%w); %s", quoted(text), err, speakOnly)
	}
	if why := l.wrong(); why != "" {
		return l, fmt.Errorf("it wrote %s, %s", quoted(text), why)
	}
	return l, nil
}

// wrong returns what is wrong with a line; "" if nothing.
func (l *Line) wrong() string {
	abouts := count(l.ID != 0, l.Lost != 0, l.Renewed != 0)
	outcomes := count(l.OK, l.Refused != "", l.Error != "")
	switch {
	case abouts == 0:
		return `which answers nothing: a reply repeats the "id" of its request`
	case abouts > 1 || l.ID < 0 || l.Lost < 0 || l.Renewed < 0:
		return `which is about more than one thing: want one of "id", "lost" and "renewed", more than 0`
	case l.Lost == 0 && outcomes == 0:
		return `which has no outcome: want "ok":true, "refused":"..." or "error":"..."`
	case outcomes > 1 || l.Lost != 0 && outcomes > 0:
		return `which has too many outcomes: want one of "ok", "refused" and "error", and none of a loss`
	case l.Elapsed < 0 || l.SentAfter < 0 || l.Validity < -1 || l.Left < -1 || l.Depth < 0 || l.Fence < 0:
		return "where a time, a depth or a token is less than nothing"
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

// strictly decodes one JSON object and nothing else.
func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value on a line")
	}
	return nil
}

// quoted quotes a text for an error.
func quoted(text []byte) string {
	const most = 120
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
