// Package console implements what all commands share: exit codes, errors with hints, progress, JSON and result folders. Its
// main types are Exit and Live.
package console

import (
	"bytes"
	"cmp"
	"context"
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

// The exit codes of lockbench. User scripts depend on them.
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

// precedence lists the exit codes from the most to the least severe.
var precedence = []int{ExitInterrupted, ExitInternal, ExitUsage, ExitEnvironment, ExitFail, ExitXPass, ExitBreach, ExitInconclusive}

// Exit is an error with an exit code. Err is nil if the reason was already printed.
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

// Usage returns the error for an invalid command line.
func Usage(err error, hint string) error { return &Exit{ExitUsage, err, hint} }

// Refusal is a usage error that applies if the field If is true.
type Refusal struct {
	If         bool
	What, Hint string
}

// Refuse returns a usage error for the first Refusal that applies (field If), or nil if none applies. The error's hint is that
// of the Refusal, or else the parameter hint.
func Refuse(hint string, all ...Refusal) error {
	for _, r := range all {
		if r.If {
			return Usage(errors.New(r.What), cmp.Or(r.Hint, hint))
		}
	}
	return nil
}

// Environment returns an error about this machine, such as a missing program.
func Environment(err error, hint string) error { return &Exit{ExitEnvironment, err, hint} }

const manyNames = 12 // maximum number of names in a hint

// Unknown returns the error for an unknown name. Its hint suggests the most similar known name.
func Unknown(what, name string, known []string) error {
	_, all, _ := strings.Cut(format.Plural(2, what), " ")
	hint := "lockbench list " + all + " shows all"
	if len(known) <= manyNames {
		hint = "known: " + strings.Join(known, ", ")
	}
	if near, ok := suggest.Nearest(name, known); ok {
		hint = fmt.Sprintf("did you mean %s? %s", near, hint)
	}
	return Usage(fmt.Errorf("unknown %s %q", what, name), hint)
}

// CodeOf returns the exit code for the result of a check. Results that are not failures have the exit code 0.
func CodeOf(s checker.Result) int {
	return map[checker.Result]int{checker.Fail: ExitFail, checker.XPass: ExitXPass, checker.Inconclusive: ExitInconclusive}[s]
}

// Codes is a set of exit codes. A code is in the set if its value is true.
type Codes map[int]bool

// Err returns an error with the most severe exit code in the set, or nil if the set contains no code of a failure.
func (c Codes) Err() error {
	for _, code := range precedence {
		if c[code] {
			return &Exit{Code: code}
		}
	}
	return nil
}

// Report prints an error and its hint, and returns the exit code. After an interrupt, the code is ExitInterrupted unless the
// error is internal.
func Report(ctx context.Context, stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	var e *Exit
	if !errors.As(err, &e) {
		e = &Exit{ExitUsage, err, "see lockbench --help"}
	}
	if e.Code == ExitInterrupted || ctx.Err() != nil && e.Code != ExitInternal {
		e = &Exit{Code: ExitInterrupted, Err: errors.New("interrupted")}
	}
	if e.Err != nil {
		fmt.Fprintf(stderr, "lockbench: %s\n", format.Visible([]byte(format.Scrub(e.Err.Error()))))
	}
	if e.Hint != "" {
		say(stderr, "hint", e.Hint)
	}
	return e.Code
}

// Note prints a note, for example about locks that are left out.
func Note(stderr io.Writer, text string) { say(stderr, "note", text) }

// Cleaned returns a writer that replaces invisible characters, such as terminal escape sequences.
func Cleaned(w io.Writer) io.Writer { return cleaned{w} }

type cleaned struct{ io.Writer }

func (c cleaned) Write(text []byte) (int, error) {
	_, err := c.Writer.Write(format.Visible(text))
	return len(text), err
}

func say(stderr io.Writer, mark, text string) {
	var t format.Lines
	t.Hang(mark+": ", format.Scrub(text))
	_, _ = t.WriteTo(stderr)
}

// NoArguments returns an error if the user gives arguments to a command that takes none.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usage(fmt.Errorf("%s takes no argument, got %q", cmd.CommandPath(), args[0]), "see "+cmd.CommandPath()+" --help")
}

// JSON prints a value as indented JSON. Invisible characters are escaped, because the output may go to a terminal.
func JSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(format.EscapeJSON(b.Bytes()))
	return err
}

// Reproduce returns the command line that repeats a run. It contains the flags that were set, and the seed.
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

// Live shows the progress of a command. On a terminal it redraws one line, elsewhere it prints a new line every ten seconds.
// It can also print permanent lines.
type Live struct {
	Terminal bool

	w     io.Writer
	mu    sync.Mutex // guards w
	stop  chan struct{}
	ended sync.WaitGroup
}

const clearLine = "\r\x1b[K"

const (
	redrawInterval = 100 * time.Millisecond // interval between redraws on a terminal
	plainInterval  = 10 * time.Second       // interval between lines if the output is not a terminal
)

// NewLive starts a progress display on w. At regular intervals, it calls the function line to get the current text. It shows
// nothing if the text is empty. The caller must call Close.
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

// redraw redraws the progress line. It cuts the line to the width of the terminal, because a wrapped line could not be cleared.
func (l *Live) redraw(text string) {
	if !l.Terminal {
		return
	}
	if width, letters := Width(l.w), []rune(text); len(letters) >= width {
		text = string(letters[:max(0, width-1)])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprint(l.w, clearLine+text)
}

// Print prints a permanent line above the progress line.
func (l *Live) Print(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Terminal {
		line = clearLine + line
	}
	fmt.Fprintln(l.w, line)
}

// Close stops the progress display.
func (l *Live) Close() {
	close(l.stop)
	l.ended.Wait()
}

const elsewhere = "choose another folder with --out"

// Folder creates the results folder and returns its path. The parameter out is the path; if the folder exists, it must be
// empty. If out is "", Folder creates runs/<time>-<name>, from the current time and the parameter name.
func Folder(out, name string) (string, error) {
	if out == "" {
		dir, err := newFolder(time.Now().Format("20060102-150405") + "-" + name)
		if err != nil {
			return "", Environment(err, elsewhere)
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

// Link makes the symbolic link runs/<name> point to a folder with complete results. It does nothing if the folder is not in
// runs/. Errors are ignored, because the link is only a convenience.
func Link(dir, name string) {
	if filepath.Dir(filepath.Clean(dir)) != "runs" {
		return
	}
	link := filepath.Join("runs", name)
	os.Remove(link)
	os.Symlink(filepath.Base(dir), link)
}

// newFolder creates a folder in runs/ that no concurrent process uses.
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
