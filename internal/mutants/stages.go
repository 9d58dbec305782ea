package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/explore"
)

// stage is one way to search for the mistake in a mutant.
type stage struct {
	name  string
	limit time.Duration // time limit, after which lockbench is interrupted
	// args returns the command-line arguments of lockbench for a lock, without --out. It returns nil if the stage does not
	// apply to the lock.
	args func(lock string) []string
	// violated returns the properties that were violated but expected to hold. It reads them from the results in the
	// folder dir.
	violated func(dir string) ([]string, error)
}

// allStages returns the stages, beginning with the cheapest. No other function states the command lines of lockbench.
func (o options) allStages() []stage {
	const reserve = 5 * time.Minute // time to start servers, to minimise and to write a report
	return []stage{
		{"run", 2 * reserve, func(lock string) []string {
			return []string{"run", "--locks", lock, "--no-controls"}
		}, runViolations},
		{"faults", 4 * reserve, func(lock string) []string {
			return []string{"run", "--locks", lock, "--no-controls", "--faults", strings.Join(faultNames(), ",")}
		}, runViolations},
		{"virtual", o.search + 2*reserve, func(lock string) []string {
			if subject := (explore.Subject{Lock: lock}); subject.Refused() != nil {
				return nil
			}
			return []string{"explore", "--locks", lock, "--until-fail", "--for", o.search.String()}
		}, exploreViolations},
		{"real", o.search + 2*reserve, func(lock string) []string {
			return []string{"explore", "--locks", lock, "--servers", "local", "--until-fail", "--for", o.search.String()}
		}, exploreViolations},
	}
}

// plan returns the chosen stages.
func (o options) plan() []stage {
	return slices.DeleteFunc(o.allStages(), func(s stage) bool { return !slices.Contains(o.stages, s.name) })
}

func stageNames() (names []string) {
	for _, s := range (options{}).allStages() {
		names = append(names, s.name)
	}
	return names
}

func faultNames() (names []string) {
	for _, f := range faults.All() {
		if f.Kind != faults.Nothing {
			names = append(names, f.Name)
		}
	}
	return names
}

func runViolations(dir string) (all []string, err error) {
	var results struct {
		Cells []struct{ Lock, Workload, Fault, Property, Result string }
	}
	err = readJSON(filepath.Join(dir, "results.json"), &results)
	for _, c := range results.Cells {
		if c.Result == "FAIL" {
			all = append(all, fmt.Sprintf("%s (%s, %s, %s)", c.Property, c.Lock, c.Workload, c.Fault))
		}
	}
	return all, err
}

func exploreViolations(dir string) (all []string, err error) {
	var results struct {
		Locks []struct {
			Lock       string
			Properties []struct {
				Property string
				Failed   int
			}
		}
	}
	err = readJSON(filepath.Join(dir, "explored.json"), &results)
	for _, l := range results.Locks {
		for _, p := range l.Properties {
			if p.Failed > 0 {
				all = append(all, fmt.Sprintf("%s (%s, %d seeds)", p.Property, l.Lock, p.Failed))
			}
		}
	}
	return all, err
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
