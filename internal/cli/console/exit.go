// Package console holds what all verbs share in talking to a user: exit codes, errors with hints, progress, output and the
// folders for results.
package console

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/checker"
	"lockbench/internal/suggest"
	"lockbench/reports/format"
)

// The exit codes. Users and their scripts rely on them.
const (
	ExitBroken      = 1
	ExitUsage       = 2
	ExitUndecided   = 3
	ExitEnvironment = 4
	ExitBreach      = 5
	ExitMissed      = 6
	ExitInternal    = 70
	ExitInterrupted = 130
)

// precedence is which code to exit with if several apply.
var precedence = []int{ExitInterrupted, ExitInternal, ExitUsage, ExitEnvironment, ExitBroken, ExitMissed, ExitBreach, ExitUndecided}

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

// Usage returns the error of a command that cannot be meant.
func Usage(err error, hint string) error { return &Exit{ExitUsage, err, hint} }

// Refusal is a reason to refuse a command line.
type Refusal struct {
	If         bool
	What, Hint string
}

// Refuse returns the usage error of the first reason that applies; hint is for those that have none of their own.
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
	hint := "there are: " + strings.Join(known, ", ")
	if near, ok := suggest.Nearest(name, known); ok {
		hint = fmt.Sprintf("did you mean %s? %s", near, hint)
	}
	return Usage(fmt.Errorf("unknown %s %q", what, name), hint)
}

// CodeOf returns the exit code that a score asks for; 0 for none.
func CodeOf(s checker.Score) int {
	return map[checker.Score]int{checker.Broken: ExitBroken, checker.Missed: ExitMissed, checker.LeftUndecided: ExitUndecided}[s]
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
