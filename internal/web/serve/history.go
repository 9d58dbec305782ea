package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/format"
	"lockbench/reports/run"
)

// historyPage holds a window of a history, and links to other windows.
type historyPage struct {
	Folder, Dir string
	Over        *overview
	Window      *window
	Drawing     template.HTML
	Strip       []slice
	Jumps       jumps // links to violations and overlaps
	Faults      jumps
	Result      trialResult
	Judged      bool
	Clients     []int32
	Hidden      int // number of clients that the page does not draw, for lack of space
	File        string
	Warnings    []string
}

// jumps holds links to events of the history. More is the number of events without a link.
type jumps struct {
	First []jump
	More  int
}

type jump struct {
	State state
	Text  string
	To    view
	Here  bool // whether the window shows the event
}

func (j *jumps) add(v view, st state, from, to time.Duration, text string, args ...any) {
	if len(j.First) == mostJumps {
		j.More++
		return
	}
	j.First = append(j.First, jump{st, fmt.Sprintf(text, args...), v.around(from, to), from <= v.To && to >= v.From})
}

// slice is one bar of the chart that gives an overview of the whole history.
type slice struct {
	X, W, H  float64 // position, width and height in a chart of 1000 by 48 units
	Overlaps bool
	Shown    bool
	Title    string
	To       view
}

func (s *Server) history(w http.ResponseWriter, r *http.Request) {
	name, dir, ok := s.pathOf(w, r, "history")
	if !ok {
		return
	}
	p := historyPage{Folder: name, Dir: dir, File: path.Join(dir, run.HistoryName)}
	file := path.Join(name, p.File)
	over, err := s.overviewOf(r.Context(), file)
	if p.Over = over; err != nil {
		s.unreadableHistory(w, err)
		return
	}
	verdict := s.verdictOf(path.Join(name, dir))
	v, err := parseView(r.URL.Query(), over.Until, func() (time.Duration, time.Duration) { return standard(over, verdict) })
	if err != nil {
		s.fail(w, http.StatusBadRequest, "This view cannot be shown: "+err.Error()+".", "Open the page without parameters for the standard view.")
		return
	}
	if p.Window, err = s.windowOf(r.Context(), file, v); err != nil {
		s.unreadableHistory(w, err)
		return
	}
	p.Warnings = slices.Concat(over.Warnings, p.Window.Warnings)
	slices.Sort(p.Warnings)
	p.Warnings = slices.Compact(p.Warnings)
	faults := over.Faults
	if len(verdict.Faults) > 0 {
		faults = verdict.Faults
	}
	p.Result, p.Judged = trialResultOf(verdict, over.Header), len(verdict.Findings) > 0
	p.jump(v, verdict, faults)
	p.strip(v)
	p.draw(faults)
	s.show(w, r, "history", page{Title: "History of " + dir, Folder: name, Content: p})
}

func (s *Server) unreadableHistory(w http.ResponseWriter, err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return // the browser has cancelled the request
	}
	s.unreadable(w, "The history", err)
}

// standard returns the start and the end of the default view of a history. The view surrounds the first violation. If
// there is no violation, the view surrounds the first overlap of two holds. If there is no overlap either, the view
// begins at the start of the history.
func standard(over *overview, verdict *checker.Verdict) (from, to time.Duration) {
	all := view{until: max(over.Until, narrowest)}.All()
	i := slices.IndexFunc(verdict.Findings, shown)
	switch {
	case i >= 0:
		all = all.around(timeOf(verdict.Findings[i].Witness, all.until))
	case len(over.Overlaps) > 0:
		all = all.around(over.Overlaps[0].From, over.Overlaps[0].To)
	case over.Ops > mostOps/2:
		all.To = max(all.until/time.Duration(over.Ops/80+1), time.Millisecond)
	}
	return all.From, all.To
}

// shown reports whether a finding is a violation with a known time.
func shown(f checker.Finding) bool { return f.Observed == checker.Violated && f.Witness != nil }

func timeOf(w *checker.Witness, until time.Duration) (from, to time.Duration) {
	if w.To < w.From || w.To > until {
		return w.From, until
	}
	return w.From, w.To
}

func (p *historyPage) jump(v view, verdict *checker.Verdict, faults []checker.Band) {
	for _, f := range verdict.Findings {
		if shown(f) {
			st := stateOf(checker.ResultOf(p.Over.Header.Expectation(f.Property).Expected, f.Observed), f.Observed)
			from, to := timeOf(f.Witness, v.until)
			p.Jumps.add(v, st, from, to, "%s at %s ms", f.Property, formatTime(from))
		}
	}
	for i, o := range p.Over.Overlaps {
		st := p.Result.State
		if st.Class == pass.Class || !p.Judged {
			st = inconclusive // overlapping holds are never shown in green
		}
		st.Word = overlapped.Word
		p.Jumps.add(v, st, o.From, o.To, "overlap %d: %s held %s for %s from %s ms", i+1, o.Who(), o.Key, span(o.To-o.From), formatTime(o.From))
	}
	p.Jumps.More += p.Over.OverlapCount - len(p.Over.Overlaps)
	for _, f := range faults {
		to, of, without := f.To, "", ""
		if to == histories.StillOpen || to > v.until {
			to = v.until
		}
		if f.Client != histories.Harness {
			of = " of " + clientName(f.Client)
		}
		if !f.Effective {
			without = ", not verified"
		}
		p.Faults.add(v, faulted, f.From, to, "%s%s at %s ms%s", f.Name, of, formatTime(f.From), without)
	}
}

// strip sets the bars of the overview chart, which shows operations and overlaps over time. It marks the bars inside
// the window.
func (p *historyPage) strip(v view) {
	o := p.Over
	most := max(1, slices.MaxFunc(o.Buckets[:], func(a, b bucket) int { return cmp.Compare(a.Ops, b.Ops) }).Ops)
	for i, b := range o.Buckets {
		from := time.Duration(i) * o.Width
		if from >= v.until {
			break
		}
		to := min(from+o.Width, v.until)
		one := slice{X: 1000 * float64(from) / float64(v.until), H: 44 * float64(b.Ops) / float64(most), Overlaps: b.Overlaps > 0,
			Shown: from < v.To && to > v.From, To: v.withRange(from, to)}
		one.W = 1000*float64(to)/float64(v.until) - one.X
		one.Title = fmt.Sprintf("%s to %s ms: %s", formatTime(from), formatTime(to), format.Plural(b.Ops, "operation"))
		if b.Overlaps > 0 {
			one.Title += fmt.Sprintf(", %s", format.Plural(b.Overlaps, "overlap"))
		}
		p.Strip = append(p.Strip, one)
	}
}

func (p *historyPage) draw(faults []checker.Band) {
	w := p.Window
	p.Clients = p.lanes()
	drawn := run.Window{ID: "window", From: w.From, To: w.To, Clients: p.Clients, Faults: faults, Holds: w.Holds,
		Title: fmt.Sprintf("Timeline from %s to %s ms", formatTime(w.From), formatTime(w.To)),
		Desc: fmt.Sprintf("One lane for each of %s. Bars are holds, thin lines calls in flight; overlaps of holds are hatched. %s.",
			format.Plural(len(p.Clients), "client"), format.Plural(w.Count, "operation"))}
	for _, o := range w.Overlaps {
		drawn.Overlaps = append(drawn.Overlaps, o.Overlap)
	}
	if !w.Crowded() {
		drawn.Ops = w.Ops
	}
	p.Drawing = run.DrawWindow(drawn)
}

// lanes returns the clients to draw, at most mostLanes. If the history has many clients, it returns only those with
// operations in the window. If the view selects a client, it returns only this client.
func (p *historyPage) lanes() (clients []int32) {
	w := p.Window
	for _, c := range p.Over.Clients {
		active := slices.ContainsFunc(w.Clients, func(s clientShare) bool { return s.Client == c })
		if w.Client != "" && w.Client != clientWord(c) || !active && len(p.Over.Clients) > 16 {
			continue
		}
		if len(clients) == mostLanes {
			p.Hidden++
			continue
		}
		clients = append(clients, c)
	}
	if len(clients) == 0 {
		clients = []int32{0}
	}
	return clients
}
