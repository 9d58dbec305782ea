package decision

import (
	"path/filepath"
	"strings"
	"time"

	"lockbench/reports/run"
)

// StoodStill is what pauses came to in the trials of one lease, in which processes really stood still.
type StoodStill struct {
	ID        string    `json:"id"` // S1, ...: unique in a report
	Source    string    `json:"source"`
	Dir       string    `json:"dir"` // of the cell, in its source
	Lock      string    `json:"lock"`
	TTLNS     int64     `json:"ttl_ns"`
	Holds     int       `json:"holds"`   // into which a pause fell, and which came to an end
	Doubled   int       `json:"doubled"` // of those: another was granted before their holder was done
	Histories []History `json:"histories"`
}

// LeaseScenario is the scenario in which a lease of the curve is tried.
func LeaseScenario(ttl time.Duration) string { return leaseScenario + ttl.String() }

// readStood reads the histories of the cells in which leases of the curve were tried.
func (e *Evidence) readStood(dir string, s Source, r run.Results, options []Option) error {
	for _, c := range r.Measurements {
		if !strings.HasPrefix(c.Scenario, leaseScenario) || !among(options, c.Lock) {
			continue
		}
		still := StoodStill{Source: s.ID, Dir: c.Dir, Lock: nameOf(options, c), TTLNS: c.TTLNS, Histories: histories(c, r.Cells)}
		for _, h := range still.Histories {
			seen, err := PausesIn(filepath.Join(dir, filepath.FromSlash(h.File)))
			if err != nil {
				return err
			}
			still.Holds, still.Doubled = still.Holds+seen.Holds, still.Doubled+seen.Doubled
		}
		e.Stood = append(e.Stood, still)
	}
	return nil
}

// nameOf is the option that a cell's lock is.
func nameOf(options []Option, c run.Measurement) string {
	for _, o := range options {
		if name, _, _ := strings.Cut(o.Name, "@"); name == c.Lock && o.Deployment == c.Deployment {
			return o.Name
		}
	}
	return c.Lock
}

// confirm sets what was tried beside what was predicted: the leases that follow from the inputs and no others, since another may
// have been tried for other needs.
func (d *deciding) confirm(a *LeaseAdvice) {
	for _, p := range a.Points {
		for _, s := range d.Stood {
			if s.Lock == a.Option && s.TTLNS == int64(p.TTL) {
				a.Confirmed = append(a.Confirmed, p.Confirm(Paused{s.Holds, s.Doubled}, s.Source, s.Histories))
				break
			}
		}
	}
}
