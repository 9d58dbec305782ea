// Package console holds what all verbs share in talking to a user: exit codes, errors with hints, progress, output and the
// folders for results.
package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"lockbench/checker"
	"lockbench/internal/suggest"
	"lockbench/reports/format"
)

// The exit codes. Users and their scripts rely on them.
const (
	ExitFail         = 1
	ExitUsage        = 2
	ExitInconclusive = 3
	ExitEnvironment  = 4
	ExitBreach       = 5
	ExitXPass        = 6
	ExitInternal     = 70
	ExitInterrupted  = 130
)

// precedence is which code to exit with if several apply.
var precedence = []int{ExitInterrupted, ExitInternal, ExitUsage, ExitEnvironment, ExitFail, ExitXPass, ExitBreach, ExitInconclusive}

// Exit is an error with an exit code. Without Err the output has said all there is to say.
type Exit struct {
	Code int
	Err  error
	Hint string
}

func (e *Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Exit) Unwrap() error { return e.Err }

// Usage returns the error of a wrong command line.
func Usage(err error, hint string) error { return &Exit{ExitUsage, err, hint} }

// Refusal is a reason to refuse a command line.
type Refusal struct {
	If         bool
	What, Hint string
}

// Refuse returns the usage error of the first reason that applies; hint is for reasons without one.
func Refuse(hint string, all ...Refusal) error {
	for _, r := range all {
		if r.If {
			return Usage(errors.New(r.What), cmp.Or(r.Hint, hint))
		}
	}
	return nil
}

// Environment returns the error of something that is missing or fails on this machine.
func Environment(err error, hint string) error { return &Exit{ExitEnvironment, err, hint} }

// Unknown returns the error of a name that is not known, with the nearest one that is.
func Unknown(what, name string, known []string) error {
	hint := "known: " + strings.Join(known, ", ")
	if near, ok := suggest.Nearest(name, known); ok {
		hint = fmt.Sprintf("did you mean %s? %s", near, hint)
	}
	return Usage(fmt.Errorf("unknown %s %q", what, name), hint)
}

// CodeOf returns the exit code of a result; 0 if it is no failure.
func CodeOf(s checker.Result) int {
	return map[checker.Result]int{checker.Fail: ExitFail, checker.XPass: ExitXPass, checker.Inconclusive: ExitInconclusive}[s]
}

// Codes holds the exit codes that apply.
type Codes map[int]bool

// Err returns the error of the gravest code, nil if none applies.
func (c Codes) Err() error {
	for _, code := range precedence {
		if c[code] {
			return &Exit{Code: code}
		}
	}
	return nil
}

// Report prints an error and its hint, and returns the exit code.
func Report(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	var e *Exit
	if !errors.As(err, &e) {
		e = &Exit{ExitUsage, err, "see lockbench --help"}
	}
	if e.Err != nil {
		fmt.Fprintf(stderr, "lockbench: %s\n", format.Scrub(e.Err.Error()))
	}
	if e.Hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", format.Scrub(e.Hint))
	}
	return e.Code
}

// NoArguments refuses arguments of a verb that takes none.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usage(fmt.Errorf("%s takes no argument, got %q", cmd.CommandPath(), args[0]), "see "+cmd.CommandPath()+" --help")
}

// JSON prints a value, indented.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Reproduce returns the line that does the same again: every flag that was set, and the seed.
func Reproduce(cmd *cobra.Command) string {
	line := "go run ./cmd/lockbench " + cmd.Name()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "out" && f.Name != "json" && f.Name != "help" || f.Name == "seed" {
			line += fmt.Sprintf(" --%s=%s", f.Name, strings.Trim(f.Value.String(), "[]"))
		}
	})
	return line
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the width of a terminal in columns, 80 if it is unknown.
func Width(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// Live shows progress: on a terminal one line that changes, elsewhere a line every ten seconds; and lines that stay.
type Live struct {
	Terminal bool

	w     io.Writer
	mu    sync.Mutex // guards w
	stop  chan struct{}
	ended sync.WaitGroup
}

const clearLine = "\r\x1b[K"

const (
	redrawInterval = 100 * time.Millisecond // on a terminal
	plainInterval  = 10 * time.Second       // elsewhere
)

// NewLive begins to show what line returns; "" is not shown. It must be closed.
func NewLive(w io.Writer, line func() string) *Live {
	l := &Live{Terminal: IsTerminal(w), w: w, stop: make(chan struct{})}
	l.ended.Go(func() { l.show(line) })
	return l
}

func (l *Live) show(line func() string) {
	interval := plainInterval
	if l.Terminal {
		interval = redrawInterval
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.stop:
			l.redraw("")
			return
		}
		if text := line(); l.Terminal {
			l.redraw(text)
		} else if text != "" {
			l.Print(text)
		}
	}
}

// redraw replaces the line that changes, cut to the width of the terminal: a line that wraps could not be cleared.
func (l *Live) redraw(text string) {
	if !l.Terminal {
		return
	}
	if width := Width(l.w); len(text) >= width {
		text = text[:max(0, width-1)]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprint(l.w, clearLine+text)
}

// Print prints a line that stays.
func (l *Live) Print(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Terminal {
		line = clearLine + line
	}
	fmt.Fprintln(l.w, line)
}

// Close ends the line that changes.
func (l *Live) Close() {
	close(l.stop)
	l.ended.Wait()
}

const elsewhere = "choose another folder with --out"

// Folder makes the folder for results: out, which must be empty, or a new one in runs/, named after the time and what was
// done. For a new one runs/<latest> becomes a link to it, unless latest is "".
func Folder(out, name, latest string) (string, error) {
	if out == "" {
		dir, err := newFolder(time.Now().Format("20060102-150405") + "-" + name)
		if err != nil {
			return "", Environment(err, elsewhere)
		}
		if latest != "" { // a convenience: nothing is lost if it cannot be made
			link := filepath.Join("runs", latest)
			os.Remove(link)
			os.Symlink(filepath.Base(dir), link)
		}
		return dir, nil
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return "", Usage(fmt.Errorf("the folder %s is not empty", out), "choose a new folder with --out")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", Environment(err, elsewhere)
	}
	return out, nil
}

// newFolder makes a folder in runs/ that no other process uses, not even one that begins at the same moment.
func newFolder(name string) (dir string, err error) {
	if err := os.MkdirAll("runs", 0o755); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		dir = filepath.Join("runs", name)
		if n > 1 {
			dir += fmt.Sprintf("-%d", n)
		}
		if err := os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}
