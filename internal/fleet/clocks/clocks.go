// Package clocks bounds the difference between the clocks of two machines. New takes Exchanges, in which one machine reads its
// own clock before and after the other machine read its own, and returns an Offset. The bounds are certain, and not estimates:
// they do not depend on the delay of the network or on its symmetry, only on MaxDrift.
package clocks

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"
)

// Exchange is one request for the reading of a remote clock.
type Exchange struct {
	Sent, Received time.Duration // local clock, before the request and after the reply
	Read           time.Duration // remote clock, in between
}

// MaxDrift is the most by which the rates of two clocks may differ: NTP changes the rate of a clock by up to 500 parts per
// million, and both clocks may be changed.
const MaxDrift = 1000e-6

// drift returns the most by which the difference of two clocks changes within a time.
func drift(d time.Duration) time.Duration {
	return time.Duration(float64(max(d, -d))*MaxDrift) + 1
}

// Offset bounds what must be added to a reading of the remote clock to get the local time.
type Offset struct {
	bounds []bound // ordered by their readings
}

// bound holds the bounds at one reading of the remote clock.
type bound struct{ read, low, high time.Duration }

// ErrDrift is the error for exchanges that contradict each other: a clock was set, stopped, or drifts by more than MaxDrift.
var ErrDrift = errors.New("the clocks of two machines drift apart, or one of them was set")

// New returns the bounds that follow from all exchanges together.
func New(all []Exchange) (*Offset, error) {
	if len(all) == 0 {
		return nil, errors.New("no exchange with the clock of the other machine")
	}
	o := &Offset{}
	for _, x := range all {
		if x.Received < x.Sent {
			return nil, fmt.Errorf("a reply was received at %s, before its request was sent at %s", x.Received, x.Sent)
		}
		o.bounds = append(o.bounds, bound{x.Read, x.Sent - x.Read, x.Received - x.Read})
	}
	slices.SortStableFunc(o.bounds, func(a, b bound) int { return cmp.Compare(a.read, b.read) })
	for i := 1; i < len(o.bounds); i++ {
		o.bounds[i].narrow(o.bounds[i-1])
	}
	for i := len(o.bounds) - 2; i >= 0; i-- {
		o.bounds[i].narrow(o.bounds[i+1])
	}
	for _, b := range o.bounds {
		if b.low > b.high {
			return nil, fmt.Errorf("%w: two readings of a clock contradict each other by %s", ErrDrift, b.low-b.high)
		}
	}
	return o, nil
}

// narrow applies the bounds at a neighbouring reading, widened by the drift in between.
func (b *bound) narrow(by bound) {
	low, high := by.at(b.read)
	b.low, b.high = max(b.low, low), min(b.high, high)
}

// at returns the bounds at another reading.
func (b bound) at(read time.Duration) (low, high time.Duration) {
	d := drift(read - b.read)
	return b.low - d, b.high + d
}

// At returns the bounds at a reading of the remote clock.
func (o *Offset) At(read time.Duration) (low, high time.Duration) {
	after := sort.Search(len(o.bounds), func(i int) bool { return o.bounds[i].read >= read })
	low, high = o.bounds[min(after, len(o.bounds)-1)].at(read)
	if after > 0 {
		l, h := o.bounds[after-1].at(read)
		low, high = max(low, l), min(high, h)
	}
	return low, high
}

// Uncertainty returns the largest distance of the bounds between two readings of the remote clock.
func (o *Offset) Uncertainty(from, to time.Duration) (most time.Duration) {
	at := func(read time.Duration) {
		low, high := o.At(read)
		most = max(most, high-low)
	}
	at(from)
	at(to)
	for i := 1; i < len(o.bounds); i++ {
		a, b := o.bounds[i-1].read, o.bounds[i].read
		if middle := a + (b-a)/2; middle > from && middle < to { // the bounds are farthest apart between two readings
			at(middle)
		}
	}
	return most
}
