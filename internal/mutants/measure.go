package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// measurement runs the stages for mutants.
type measurement struct {
	module *module
	dir    string // temporary folder for programs and results
	out    string // folder for the console output of the stages
	stages []stage
	search time.Duration // duration of the stages "virtual" and "real"
}

// row is the result of one mutant.
type row struct {
	Mutant   string    `json:"mutant"`
	Patch    string    `json:"patch,omitempty"`
	Locks    []string  `json:"locks"`
	Mistake  string    `json:"mistake"`
	Matters  string    `json:"matters"`
	Detected string    `json:"detected,omitempty"` // stage that detected the mutant
	Violated []string  `json:"violated,omitempty"` // properties that were violated in this stage
	Seconds  float64   `json:"seconds"`            // time of all stages in seconds, without building
	Stages   []attempt `json:"stages"`
	Error    string    `json:"error,omitempty"` // reason why the mutant could not be measured
	Repeat   string    `json:"repeat"`          // command that measures this row again
}

// attempt is the result of one stage.
type attempt struct {
	Stage   string  `json:"stage"`
	Command string  `json:"command,omitempty"`
	Outcome string  `json:"outcome"`
	Seconds float64 `json:"seconds"`
}

// Outcomes of a stage.
const (
	detected      = "detected"
	notDetected   = "not detected"
	noVerdict     = "no verdict" // the run was inconclusive, or a store is missing; see the exit code
	notApplicable = "not applicable"
	crashed       = "crashed" // lockbench itself crashed, which says nothing about detection
	timedOut      = "timed out"
)

// Exit codes of lockbench.
const (
	exitMet      = 0
	exitViolated = 1
	exitUsage    = 2
	exitXPass    = 6 // all expectations were met, but a known defect of a lock did not show
)

// row builds a mutant and runs the stages until one detects it.
func (m *measurement) row(ctx context.Context, one mutant) row {
	r := row{Mutant: one.name, Patch: one.patch, Locks: one.locks, Mistake: one.mistake, Matters: one.matters}
	dir := filepath.Join(m.dir, one.name)
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "lockbench")
	err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(filepath.Join(m.out, one.name), 0o755))
	if err == nil {
		err = m.module.build(ctx, one, program)
	}
	for _, s := range m.stages {
		for _, lock := range one.locks { // separately, because a mutant of one lock may crash lockbench
			if err != nil || r.Detected != "" || ctx.Err() != nil {
				break
			}
			var a attempt
			a, r.Violated, err = m.attempt(ctx, s, one.name, lock, program)
			r.Stages = append(r.Stages, a)
			r.Seconds += a.Seconds
			if a.Outcome == detected {
				r.Detected = s.name
			}
		}
	}
	if err != nil {
		r.Error = err.Error()
	}
	r.Repeat = m.repeat(r)
	return r
}

// repeat returns the command that measures a row again. It runs the stage that detected the mutant. If no stage did, it
// runs all stages.
func (m *measurement) repeat(r row) string {
	command := "go run ./internal/mutants --only " + r.Mutant
	if r.Patch == "" {
		command = "go run ./internal/mutants --unchanged"
	}
	var names []string
	for _, s := range m.stages {
		if r.Detected == "" || r.Detected == s.name {
			names = append(names, s.name)
		}
	}
	command += " --stages " + strings.Join(names, ",")
	if slices.Contains(names, "real") || slices.Contains(names, "virtual") {
		command += " --for " + m.search.String()
	}
	return command
}

// attempt runs one stage for one lock. It returns an error if the result of the stage cannot be interpreted.
func (m *measurement) attempt(ctx context.Context, s stage, name, lock, program string) (attempt, []string, error) {
	a := attempt{Stage: s.name, Outcome: notApplicable}
	args := s.args(lock)
	if args == nil {
		return a, nil, nil
	}
	a.Command = "lockbench " + strings.Join(args, " ")
	results := filepath.Join(filepath.Dir(program), s.name)
	defer os.RemoveAll(results)
	began := time.Now()
	code, output, err := m.command(ctx, s, program, append(args, "--out", results))
	a.Seconds = time.Since(began).Seconds()
	err = errors.Join(err, os.WriteFile(filepath.Join(m.out, name, s.name+"-"+lock+".txt"), output, 0o644))
	switch {
	case err != nil:
		if errors.Is(err, context.DeadlineExceeded) {
			a.Outcome, err = timedOut, nil
		}
		return a, nil, err
	case code == exitUsage && bytes.Contains(output, []byte("\ngoroutine ")):
		a.Outcome = crashed
		return a, nil, nil
	case code == exitUsage:
		return a, nil, fmt.Errorf("stage %s: %s", s.name, firstLine(output))
	case code == exitMet:
		a.Outcome = notDetected
		return a, nil, nil
	case code == exitXPass:
		a.Outcome = fmt.Sprintf("%s (exit code %d)", notDetected, code)
		return a, nil, nil
	case code != exitViolated:
		a.Outcome = fmt.Sprintf("%s (exit code %d)", noVerdict, code)
		return a, nil, nil
	}
	violated, err := s.violated(results)
	if err == nil && len(violated) == 0 {
		err = errors.New("exit code 1 without a violated property in the results")
	}
	if err != nil {
		return a, nil, fmt.Errorf("stage %s: %w", s.name, err)
	}
	a.Outcome = detected
	return a, violated, nil
}

// stopTimeout is the time in which lockbench must end after an interrupt. After this time it is killed. Its servers then
// end by themselves.
const stopTimeout = 20 * time.Second

// command runs lockbench and returns its exit code and its output. If the time limit of the stage is reached, it returns
// context.DeadlineExceeded.
func (m *measurement) command(ctx context.Context, s stage, program string, args []string) (code int, output []byte, err error) {
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	cmd := exec.CommandContext(limited, program, args...)
	cmd.Dir = filepath.Dir(program)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	output, err = cmd.CombinedOutput()
	if limited.Err() != nil {
		return 0, output, limited.Err()
	}
	if exited := new(exec.ExitError); errors.As(err, &exited) && exited.Exited() {
		return exited.ExitCode(), output, nil
	}
	return 0, output, err
}

func firstLine(output []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(output), []byte("\n"))
	return string(line)
}
