package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// patches is the folder of the patch files, relative to the root of the module.
const patches = "internal/mutants/patches"

// mutant is a lock with one deliberate mistake. The lines before the diff in its patch file describe it.
type mutant struct {
	name    string
	patch   string // patch file relative to the root of the module; "": the lock is unchanged
	locks   []string
	mistake string // what the changed code does wrong
	matters string // situation in which the mistake matters, and its consequence
	changes []string
}

// readMutants returns the mutants of the module in the folder root, sorted by name.
func readMutants(root string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(patches), "*.patch"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no patches in %s: run the command in the root of the module", patches)
	}
	var all []mutant
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parseMutant(filepath.Base(file), string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		all = append(all, m)
	}
	return all, nil
}

// parseMutant parses the text of a patch file.
func parseMutant(file, text string) (mutant, error) {
	header, diff, found := strings.Cut(text, "\ndiff --git ")
	if !found {
		return mutant{}, errors.New("no line begins with diff --git")
	}
	m := mutant{name: strings.TrimSuffix(file, ".patch"), patch: path.Join(patches, file)}
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "lock":
			m.locks = strings.Split(value, ", ")
		case "mistake":
			m.mistake = value
		case "matters":
			m.matters = value
		case "":
		default:
			return m, fmt.Errorf("unknown field %q: want lock, mistake and matters", name)
		}
	}
	if len(m.locks) == 0 || m.mistake == "" || m.matters == "" {
		return m, errors.New("want the fields lock, mistake and matters before the diff")
	}
	for line := range strings.Lines(diff) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ b/"); ok {
			m.changes = append(m.changes, name)
		}
	}
	return m, nil
}

// unchanged returns each lock of the mutants once, without a mistake.
func unchanged(of []mutant) (all []mutant) {
	for _, m := range of {
		for _, lock := range m.locks {
			all = append(all, mutant{name: "unchanged-" + lock, locks: []string{lock}, mistake: "none", matters: "the lock must not be detected"})
		}
	}
	slices.SortFunc(all, func(a, b mutant) int { return cmp.Compare(a.name, b.name) })
	return slices.CompactFunc(all, func(a, b mutant) bool { return a.name == b.name })
}
