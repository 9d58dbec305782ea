package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// results holds the rows of the measured mutants, sorted by name.
type results struct {
	Rows []row `json:"mutants"`
}

func (t *results) add(r row) {
	t.Rows = append(t.Rows, r)
	slices.SortFunc(t.Rows, func(a, b row) int { return cmp.Compare(a.Mutant, b.Mutant) })
}

// failed reports whether the exit code must be 1. This is the case if a mutant could not be measured, or if a stage
// detected something in an unchanged lock.
func (t *results) failed(unchanged bool) bool {
	return slices.ContainsFunc(t.Rows, func(r row) bool { return r.Error != "" || unchanged && r.Detected != "" })
}

// write writes the rows to detection.md and detection.json.
func (t *results) write(dir string) error {
	text, err := json.MarshalIndent(t, "", "  ")
	return errors.Join(err,
		os.WriteFile(filepath.Join(dir, "detection.json"), append(text, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, "detection.md"), []byte(t.markdown()), 0o644))
}

// line returns the result of a mutant for the terminal.
func (r row) line() string {
	return fmt.Sprintf("%-45s %s, after %v", r.Mutant, r.result(), r.took())
}

func (r row) took() time.Duration {
	return (time.Duration(r.Seconds * float64(time.Second))).Round(100 * time.Millisecond)
}

// result returns the stage that detected the mutant and the first violated property. If the mutant was not detected, it
// returns the outcome of each stage.
func (r row) result() string {
	switch {
	case r.Error != "":
		return "ERROR: " + r.Error
	case r.Detected != "":
		more := ""
		if n := len(r.Violated) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		return fmt.Sprintf("detected by %s: %s%s", r.Detected, r.Violated[0], more)
	}
	var outcomes []string
	for _, a := range r.Stages {
		outcomes = append(outcomes, a.Stage+" "+a.Outcome)
	}
	text := strings.Join(outcomes, ", ")
	if !r.survived() {
		return text
	}
	return "survived: " + text
}

// survived reports whether at least one stage judged the mutant and no stage detected it.
func (r row) survived() bool {
	judged := func(a attempt) bool { return strings.HasPrefix(a.Outcome, notDetected) }
	return r.Error == "" && r.Detected == "" && slices.ContainsFunc(r.Stages, judged)
}

// summary returns how many mutants had each result.
func (t *results) summary() string {
	by, detected, survived, open, failed := map[string]int{}, 0, 0, 0, 0
	for _, r := range t.Rows {
		switch {
		case r.Error != "":
			failed++
		case r.Detected != "":
			by[r.Detected]++
			detected++
		case r.survived():
			survived++
		default:
			open++
		}
	}
	var stages []string
	for _, s := range stageNames() {
		stages = append(stages, fmt.Sprintf("%s %d", s, by[s]))
	}
	text := fmt.Sprintf("%d mutants: %d detected (%s), %d survived", len(t.Rows), detected, strings.Join(stages, ", "), survived)
	if open > 0 {
		text += fmt.Sprintf(", %d without a verdict", open)
	}
	if failed > 0 {
		text += fmt.Sprintf(", %d not measured because of an error", failed)
	}
	return text + "."
}

func (t *results) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| mutant | lock | mistake | result | after | repeat |\n|---|---|---|---|--:|---|\n", t.summary())
	cell := strings.NewReplacer("|", "\\|", "\n", " ")
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %v | `%s` |\n", r.Mutant, strings.Join(r.Locks, ", "), cell.Replace(r.Mistake),
			cell.Replace(r.result()), r.took(), r.Repeat)
	}
	return b.String()
}
