package edn

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"lockbench/histories"
)

// Export writes a history file as EDN, in order of the events. Each line is the call or the return of an operation. A
// history is complete only up to its last mark, so Export omits later operations.
//
// Export reads the file twice, because the process numbers depend on the number of clients.
func Export(w io.Writer, path string) (warnings []string, err error) {
	warnings, err = export(w, func() (*histories.Reader, error) { return histories.Open(path, Format) })
	if err != nil && !errors.As(err, new(*os.PathError)) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return warnings, err
}

func export(w io.Writer, open func() (*histories.Reader, error)) (warnings []string, err error) {
	concurrency, stall, err := survey(open)
	if err != nil {
		return nil, err
	}
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	x := &writer{out: bufio.NewWriter(w), concurrency: concurrency, eras: map[int32]int64{}}
	header := r.Header
	header.Stall = max(header.Stall, histories.Nanos(stall))
	header.Marks = false // operations after the last mark are omitted, so the exported history is complete and needs no marks
	if err := x.header(&header); err != nil {
		return nil, err
	}
	cover, err := histories.Replay(r.Next, x.event)
	if err != nil {
		return nil, err
	}
	x.begin(cover.Until, "info", ":"+nemesis, headerEntry)
	if err := x.end(); err != nil {
		return nil, err
	}
	if cover.LeftOut > 0 {
		r.Warnf("the run was cut off: %d operations after its last mark are left out", cover.LeftOut)
	}
	return r.Warnings, x.out.Flush()
}

// survey returns the number of concurrent processes: the clients, and one more for lockbench itself. It also returns the
// longest pause of lockbench that a mark states.
func survey(open func() (*histories.Reader, error)) (concurrency int64, stall time.Duration, err error) {
	r, err := open()
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	most := int32(r.Header.Clients) - 1
	for {
		line, err := r.Next()
		switch {
		case err == io.EOF:
			return int64(most) + 2, stall, nil
		case err != nil:
			return 0, 0, err
		}
		stall = max(stall, line.Stall)
		most = max(most, line.Op.Client)
	}
}

type writer struct {
	out         *bufio.Writer
	concurrency int64
	eras        map[int32]int64 // number of operations with an unknown outcome so far, by client
	index       int64
	last        time.Duration // time of the last entry; times must not decrease
	line        []byte
}

func (x *writer) header(h *histories.Header) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	x.begin(0, "info", ":"+nemesis, headerEntry)
	x.text(":value", string(text))
	x.end()
	return nil
}

func (x *writer) event(ev histories.Event) error {
	op := ev.Op
	switch {
	case op.Kind == histories.Inject && !ev.Return:
		x.self(op, op.Call, "invoke", ":"+nemesis)
	case op.Kind == histories.Inject || op.Kind == histories.Heal:
		x.self(op, op.Return, "info", ":"+nemesis)
	case op.Kind.SelfStarted():
		x.self(op, ev.Time(), "info", ":"+selfStarted)
		x.number(":return", int64(op.Return), op.Return != ev.Time())
	case !ev.Return:
		x.operation(op, op.Call, "invoke")
		x.number(":due", int64(op.Due), op.Due != op.Call)
		x.wait(op.Wait)
		if op.Kind == histories.Write || op.Kind == histories.Append {
			x.number(":value", op.Value, true)
		}
	default:
		x.operation(op, op.Return, map[histories.Outcome]string{histories.OK: "ok", histories.Refused: "fail", histories.Unknown: "info"}[op.Outcome])
		x.result(op)
		x.number(":value", op.Value, op.Value != 0 || op.Kind != histories.Acquire && op.Kind != histories.Release)
		if op.Outcome == histories.Unknown {
			x.eras[op.Client]++
		}
	}
	return x.end()
}

// operation begins the entry for the call or the return of an operation. It adds Op.Client and Op.Life, which identify
// the client, unless the Jepsen process number is sufficient.
func (x *writer) operation(op *histories.Op, at time.Duration, kind string) {
	thread := int64(op.Client)
	if op.Client == histories.Harness {
		thread = x.concurrency - 1
	}
	process := thread + x.eras[op.Client]*x.concurrency
	x.begin(at, kind, strconv.FormatInt(process, 10), op.Kind.String())
	x.text(":key", op.Key)
	if process != int64(op.Client) || op.Life != 0 {
		x.number(":client", int64(op.Client), true)
		x.number(":life", int64(op.Life), true)
	}
	x.number(":hold", op.Hold, op.Hold != 0)
}

// self writes the entry of an operation that may overlap other operations of the same client, such as a fault.
func (x *writer) self(op *histories.Op, at time.Duration, kind, process string) {
	x.begin(at, kind, process, op.Kind.String())
	x.text(":key", op.Key)
	x.number(":client", int64(op.Client), true)
	x.number(":life", int64(op.Life), op.Life != 0)
	x.number(":hold", op.Hold, op.Hold != 0)
	if op.Fault != "" {
		x.text(":fault", op.Fault)
	}
	if kind != "invoke" {
		x.line = append(append(x.line, ", :outcome :"...), op.Outcome.String()...)
	}
	x.number(":due", int64(op.Due), op.Due != op.Call)
	x.number(":call", int64(op.Call), true)
	x.number(":value", op.Value, op.Value != 0)
	if kind != "invoke" {
		x.result(op)
	}
}

func (x *writer) result(op *histories.Op) {
	x.number(":depth", int64(op.Depth), op.Depth != 0)
	x.number(":sent-after", int64(op.SentAfter), op.SentAfter != 0)
	if op.Validity == histories.Unbounded {
		x.line = append(x.line, ", :validity :unbounded"...)
	} else {
		x.number(":validity", int64(op.Validity), op.Validity != 0)
	}
	x.number(":fence", op.Fence, op.Fence != 0)
	if op.Error != "" {
		x.text(":error", op.Error)
	}
}

// wait writes the timeout of an acquire.
func (x *writer) wait(d time.Duration) {
	switch d {
	case histories.Try:
		x.line = append(x.line, ", :wait :try"...)
	case histories.Unlimited:
		x.line = append(x.line, ", :wait :unlimited"...)
	default:
		x.number(":wait", int64(d), d != 0)
	}
}

func (x *writer) begin(at time.Duration, kind, process, f string) {
	x.last = max(x.last, at)
	x.line = fmt.Appendf(x.line[:0], "{:index %d, :time %d, :type :%s, :process %s, :f :%s", x.index, x.last, kind, process, f)
	x.index++
}

func (x *writer) end() error {
	_, err := x.out.Write(append(x.line, "}\n"...))
	return err
}

func (x *writer) number(name string, n int64, write bool) {
	if write {
		x.line = fmt.Appendf(x.line, ", %s %d", name, n)
	}
}

// text writes a string field. Control characters are escaped as in \u001b.
func (x *writer) text(name, s string) {
	x.line = append(append(append(x.line, ", "...), name...), " \""...)
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			x.line = append(x.line, '\\', byte(c))
		case c < ' ':
			x.line = fmt.Appendf(x.line, `\u%04x`, c)
		default:
			x.line = append(x.line, string(c)...)
		}
	}
	x.line = append(x.line, '"')
}
