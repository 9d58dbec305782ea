package advice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"
)

// TrialPoint is a lease to be tried: processes really stand still in their holds, for times drawn from the distribution of
// pauses, while others wait. All times are as they are tried.
type TrialPoint struct {
	TTL, Hold time.Duration
	Pause     Distribution
	Cut       time.Duration // what is drawn and longer stands still for so long only, which comes to the same
	Scale     float64       // of all times, but for round trips
	Predicted float64       // how often a hold is doubled by its pause
}

// What a trial can tell and has time for.
const (
	leastTried    = 500 * time.Millisecond // shorter leases are over before a machine has done a thing on time
	longestCycle  = 1500 * time.Millisecond
	longestPause  = 8 * time.Second        // a process that says nothing for longer is given up
	shortestPause = 100 * time.Microsecond // shorter ones would have to be made so much longer that the trial said nothing
	usualShare    = 0.5                    // of the first point; the second is where it is rarer, the third where it is not to happen
	rarerShare    = 0.15
)

// TrialPoints are three leases to be tried for a model: one that half of the pauses outlast, one that few do, and one that is
// advised, or would be if others recovered in time. The work takes its median, or less where pauses are so short beside it
// that the trial could not tell them from nothing; then all times are made longer, or shorter, by one factor, so that a
// machine can keep to them and a person can wait for them. There is none where pauses are too short to be made.
//
// Of a lock whose waiters ask again and again, the next is granted when one of the two that wait in a trial asks, which is so long
// after the end of the lease as the longest time between two tries, backOff, makes likely. The curve takes no account of that:
// where many wait, one asks at once.
func (m LeaseModel) TrialPoints(advised, shortest, backOff time.Duration) []TrialPoint {
	if advised == 0 {
		advised = m.Needed()
	}
	if m.Pause.quantile(0.5) < float64(shortestPause) {
		return nil
	}
	hold := min(m.Hold.quantile(0.5), m.Pause.quantile(0.5))
	scale := 1.0
	if cycle := hold + m.Pause.mean(); cycle > float64(longestCycle) {
		scale = float64(longestCycle) / cycle
	}
	for range 4 { // round trips are what they are, so that the lease does not grow as the other times do
		if half, least := m.tried(hold, scale, backOff).outlasted(usualShare), float64(max(leastTried, shortest)); half < least {
			scale *= least / half
		}
	}
	scale = digits2(scale)
	t := m.tried(hold, scale, backOff)
	ttls := []time.Duration{readable(t.outlasted(usualShare)), readable(t.outlasted(rarerShare)), readable(float64(advised) * scale)}
	var points []TrialPoint
	for _, ttl := range ttls {
		ttl = max(ttl, shortest)
		points = append(points, TrialPoint{TTL: ttl, Hold: time.Duration(hold * scale).Round(time.Millisecond), Pause: t.Pause,
			Cut: min(ttl*3/2, longestPause), Scale: scale, Predicted: digits4(t.givenPause(float64(ttl)))})
	}
	return points
}

// trialModel is the model of a trial.
type trialModel struct {
	LeaseModel
	late []portion // from the end of a lease to the next grant
}

// tried has the work take the same time whenever. Round trips are what they are, and so are the times between tries.
func (m LeaseModel) tried(hold, scale float64, backOff time.Duration) trialModel {
	return trialModel{LeaseModel{Lease: m.Lease, Acquire: m.Acquire, Hold: Always(time.Duration(hold * scale).Round(time.Millisecond)),
		Pause: m.Pause.scaled(scale)}, untilAsked(float64(backOff))}
}

// untilAsked is the time until the first of two waiters asks, each of which pauses for between half and all of a back-off.
func untilAsked(backOff float64) []portion {
	const n = 32
	var out []portion
	for i := range n {
		left := math.Sqrt((float64(i) + 0.5) / n) // the share of times to the next try of one waiter that are longer
		at := 0.75 * (1 - left)                   // what is left of a pause that is longer than half
		if left < 1.0/3 {
			at = 1 - math.Sqrt(0.75*left)
		}
		out = append(out, portion{at * backOff, 1.0 / n})
	}
	return out
}

// givenPause is the probability that a paused hold is doubled.
func (t trialModel) givenPause(ttl float64) (p float64) {
	for _, late := range t.late {
		p += late.share * t.LeaseModel.givenPause(ttl, ttl+late.at)
	}
	return p
}

// outlasted is the lease that a share of the pauses outlasts.
func (t trialModel) outlasted(share float64) float64 {
	least, most := float64(time.Microsecond), float64(24*time.Hour)
	for most/least > 1.001 {
		ttl := math.Sqrt(least * most)
		if t.givenPause(ttl) > share {
			least = ttl
		} else {
			most = ttl
		}
	}
	return most
}

// readable is a lease in whole milliseconds, of two or three digits.
func readable(ns float64) time.Duration {
	unit := time.Millisecond
	for time.Duration(ns) > 1000*unit {
		unit *= 10
	}
	return max(time.Duration(ns).Round(unit), time.Millisecond)
}

// ConfirmedBy reads the histories in which a point was tried, files with slashes in a folder, and says what they show. source is
// what the report calls the folder.
func (p TrialPoint) ConfirmedBy(folder, source string, files []string) (Confirmed, error) {
	var all Paused
	of := []History{}
	for _, file := range files {
		name := filepath.Join(folder, filepath.FromSlash(file))
		seen, err := PausesIn(name)
		if err != nil {
			return Confirmed{}, err
		}
		sum, err := sumOf(name)
		if err != nil {
			return Confirmed{}, err
		}
		all.Holds, all.Doubled = all.Holds+seen.Holds, all.Doubled+seen.Doubled
		of = append(of, History{File: file, SHA256: sum})
	}
	return p.confirmed(all, source, of), nil
}

func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (p TrialPoint) confirmed(seen Paused, source string, of []History) Confirmed {
	low, high := shareOf(seen.Doubled, seen.Holds)
	c := Confirmed{TTLNS: int64(p.TTL), Scale: p.Scale, Predicted: p.Predicted, Pauses: seen.Holds, Doubles: seen.Doubled,
		Low: digits4(low), High: digits4(high), Source: source, Histories: of}
	c.Agrees = seen.Holds > 0 && c.Low <= p.Predicted && p.Predicted <= c.High
	c.Text = p.text(c)
	return c
}

func (p TrialPoint) text(c Confirmed) string {
	if c.Pauses == 0 {
		return fmt.Sprintf("With a lease of %s no pause fell into a hold: nothing is known of it.", Lasting(p.TTL))
	}
	scaled := ""
	if p.Scale != 1 {
		scaled = fmt.Sprintf(" All times but round trips were %g times those of the needs.", p.Scale)
	}
	agrees := "does not agree with the model"
	if c.Agrees {
		agrees = "agrees with the model"
	}
	return fmt.Sprintf("With a lease of %s and work of %s, processes really stood still in %d holds, and %d of those were granted to another before they were done: %s, with a 95 %% interval from %s to %s. Predicted was %s, which %s.%s",
		Lasting(p.TTL), Lasting(p.Hold), c.Pauses, c.Doubles, share(float64(c.Doubles)/float64(c.Pauses)), share(c.Low), share(c.High), share(c.Predicted), agrees, scaled)
}
