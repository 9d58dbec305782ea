package spread

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"

	"lockbench/histories"
	"lockbench/internal/fleet/clocks"
	"lockbench/workloads"
)

// Recording is the history that one agent recorded.
type Recording struct {
	Agent  string
	Header histories.Header
	Ops    []histories.Op // that have returned
	Stall  time.Duration  // longest pause of the agent
	Zero   time.Duration  // reading of the agent's clock when the history began
	Last   time.Duration  // time of the last event
	Offset *clocks.Offset // from the agent's clock to the coordinator's
}

// read decodes the history of an agent that has a part of the clients.
func read(text []byte, part workloads.Part) (r Recording, err error) {
	lines, err := histories.NewReader(bytes.NewReader(text))
	if err != nil {
		return r, err
	}
	defer lines.Close()
	r.Header = lines.Header
	for {
		line, err := lines.Next()
		switch {
		case err == io.EOF && len(lines.Warnings) > 0:
			return r, errors.New(lines.Warnings[0])
		case err == io.EOF:
			return r, nil
		case err != nil:
			return r, err
		case line.Mark:
			r.Stall, r.Last = max(r.Stall, line.Stall), max(r.Last, line.At)
			continue
		case line.Op.Open():
			continue // another line has the return
		}
		op := &line.Op
		switch {
		case op.Client < 0 || int(op.Client) >= r.Header.Clients || !part.Owns(int(op.Client)):
			return r, fmt.Errorf("it has an operation of client %d, which runs elsewhere", op.Client)
		case op.Kind == histories.Inject || op.Kind == histories.Heal || op.Kind == histories.Seen:
			return r, fmt.Errorf("it has an operation of the kind %s", op.Kind)
		case len(r.Ops) >= mostOperations:
			return r, fmt.Errorf("it has more than %d operations", mostOperations)
		case op.Return > maxTime:
			return r, fmt.Errorf("it has a time of %s", op.Return)
		}
		r.Last = max(r.Last, op.Return)
		r.Ops = append(r.Ops, *op)
	}
}

// maxTime bounds the times of a history, so that sums do not overflow.
const maxTime = 24 * time.Hour

// Merged holds the histories of all agents on one time line, the coordinator's.
type Merged struct {
	Header   histories.Header
	Judged   []histories.Op // holds are shortened by the uncertainty of the clocks
	Measured []histories.Op // durations are exact; times of different agents differ by at most the uncertainty
	Grants   int
	// Hidden is the number of grants that the judge cannot use: their holds were shorter than the uncertainty.
	Hidden      int
	Uncertainty time.Duration // largest distance of the bounds of an agent's clock during the trial
	Origin      time.Duration // reading of the coordinator's clock at time 0
}

// Merge merges the histories of agents.
func Merge(all []Recording) (*Merged, error) {
	if len(all) == 0 {
		return nil, errors.New("no agent recorded a history")
	}
	m := &Merged{Header: all[0].Header, Origin: histories.Forever}
	if len(all) == 1 {
		return m.single(all[0]), nil
	}
	for _, r := range all {
		low, _ := r.Offset.At(r.Zero)
		m.Origin = min(m.Origin, r.Zero+low)
		m.Uncertainty = max(m.Uncertainty, r.Offset.Uncertainty(r.Zero, r.Zero+r.Last))
		m.Header.Stall = max(m.Header.Stall, histories.Nanos(r.Stall))
	}
	m.Header.Marks, m.Header.Uncertainty = false, histories.Nanos(m.Uncertainty)
	for _, r := range all {
		m.measure(r)
		m.judge(r)
	}
	return m, nil
}

// single returns the history of the only agent, which one clock stamped, so nothing is uncertain.
func (m *Merged) single(r Recording) *Merged {
	low, high := r.Offset.At(r.Zero)
	m.Origin = r.Zero + low + (high-low)/2
	m.Header.Marks, m.Header.Stall = false, max(m.Header.Stall, histories.Nanos(r.Stall))
	m.Judged, m.Measured = r.Ops, r.Ops
	for i := range r.Ops {
		if r.Ops[i].Kind == histories.Acquire && r.Ops[i].Outcome == histories.OK {
			m.Grants++
		}
	}
	return m
}

// measure adds the operations of an agent, all shifted equally.
func (m *Merged) measure(r Recording) {
	low, high := r.Offset.At(r.Zero + r.Last/2)
	shift := r.Zero + low + (high-low)/2 - m.Origin
	for _, op := range r.Ops {
		op.Due, op.Call, op.Return = max(0, op.Due+shift), max(0, op.Call+shift), max(0, op.Return+shift)
		m.Measured = append(m.Measured, op)
	}
}

// judge adds the operations of an agent for the judge. A grant is received at the latest time that the bounds allow, and everything
// else happens at the earliest. So a hold begins late and ends early, its lease ends early, and an acquire is called before another
// grant was received unless that is certain not to be so. A hold that would end before it begins is left out.
func (m *Merged) judge(r Recording) {
	early := func(at time.Duration) time.Duration {
		low, _ := r.Offset.At(r.Zero + at)
		return max(0, r.Zero+at+low-m.Origin)
	}
	late := func(at time.Duration) time.Duration {
		_, high := r.Offset.At(r.Zero + at)
		return max(0, r.Zero+at+high-m.Origin)
	}
	hidden := r.hidden(early, late)
	for _, op := range r.Ops {
		granted := op.Kind == histories.Acquire && op.Outcome == histories.OK
		if granted {
			m.Grants++
		}
		if hidden[op.Hold] {
			if granted {
				m.Hidden++
			}
			continue
		}
		if op.Due, op.Call = early(op.Due), early(op.Call); granted {
			op.Return = late(op.Return)
		} else {
			op.Return = max(op.Call, early(op.Return))
		}
		m.Judged = append(m.Judged, op)
	}
}

// hidden returns the holds that may have ended, or been renewed, before the latest time of their grant.
func (r *Recording) hidden(early, late func(time.Duration) time.Duration) map[int64]bool {
	hidden := map[int64]bool{}
	granted := map[int32]*histories.Op{} // latest grant of each client
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Kind == histories.Acquire && op.Outcome == histories.OK {
			if before := granted[op.Client]; before != nil && early(op.Call) < late(before.Return) {
				hidden[before.Hold] = true
			}
			granted[op.Client] = op
			continue
		}
		if of := granted[op.Client]; of != nil && early(op.Call) < late(of.Return) {
			hidden[of.Hold] = true
		}
	}
	return hidden
}

// Write writes the judged history to a file.
func (m *Merged) Write(path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	z, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	line, err := json.Marshal(m.Header)
	if err != nil {
		return err
	}
	if _, err := z.Write(append(line, '\n')); err != nil {
		return err
	}
	for i := range m.Judged {
		if _, err := z.Write(append(histories.AppendOp(line[:0], &m.Judged[i]), '\n')); err != nil {
			return err
		}
	}
	return nil
}
