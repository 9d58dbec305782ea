package main

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/suggest"
)

// The exit codes. Users and their scripts rely on them.
const (
	exitBroken      = 1
	exitUsage       = 2
	exitUndecided   = 3
	exitEnvironment = 4
	exitBreach      = 5
	exitMissed      = 6
	exitInternal    = 70
	exitInterrupted = 130
)

// precedence is which code to exit with if several apply.
var precedence = []int{exitInterrupted, exitInternal, exitUsage, exitEnvironment, exitBroken, exitMissed, exitBreach, exitUndecided}

// exit is an error that knows its exit code. Without err the output has said all there is to say.
type exit struct {
	code int
	err  error
	hint string
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

func usage(err error, hint string) error { return &exit{exitUsage, err, hint} }

func environment(err error, hint string) error { return &exit{exitEnvironment, err, hint} }

// exitCode is the code that a score asks for; 0 for none.
func exitCode(s checker.Score) int {
	switch s {
	case checker.Broken:
		return exitBroken
	case checker.Missed:
		return exitMissed
	case checker.LeftUndecided:
		return exitUndecided
	}
	return 0
}

// codes gathers the exit codes that apply.
type codes map[int]bool

// exit is the error of the gravest code, nil where none applies.
func (c codes) exit() error {
	for _, code := range precedence {
		if c[code] {
			return &exit{code: code}
		}
	}
	return nil
}

// unknown is the error of a name that is not in the table, with the nearest one that is.
func unknown(what, name string, known []string) error {
	hint := "there are: " + strings.Join(known, ", ")
	if near, ok := suggest.Nearest(name, known); ok {
		hint = fmt.Sprintf("did you mean %s? %s", near, hint)
	}
	return usage(fmt.Errorf("unknown %s %q", what, name), hint)
}

// choose picks the named entries of a table, in the table's order; all of them where no name is given.
func choose[T any](what string, all []T, name func(T) string, wanted []string) ([]T, error) {
	if len(wanted) == 0 {
		return all, nil
	}
	var known []string
	for _, t := range all {
		known = append(known, name(t))
	}
	for _, w := range wanted {
		if !slices.Contains(known, w) {
			return nil, unknown(what, w, known)
		}
	}
	var chosen []T
	for i, t := range all {
		if slices.Contains(wanted, known[i]) {
			chosen = append(chosen, t)
		}
	}
	return chosen, nil
}
