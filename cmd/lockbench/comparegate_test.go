package main

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"lockbench/reports/bench"
)

// makeBench implements the script command "bench DIR [OPTION...]", which writes a synthetic benchmark to a folder.
// Examples of the options:
//
//	seed=2             add random noise with this seed
//	blocks=3           keep only the first three blocks of trials
//	factor=fenced:0.8  multiply the throughput of a lock by a factor
//	unsafe=redsync     add a violation to the last trials of a lock
//	blind              remove all violations
//	thresholds=FILE    read the thresholds of the plan from a file
func makeBench(ts *testscript.TestScript, _ bool, args []string) {
	var recorded struct {
		Plan   *bench.Plan
		Trials []*bench.Trial
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "reports", "bench", "testdata", "synthetic.json"))
	ts.Check(err)
	ts.Check(json.Unmarshal(text, &recorded))
	plan, trials := recorded.Plan, recorded.Trials
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		var err error
		switch name {
		case "seed":
			plan.Seed, err = strconv.ParseUint(value, 10, 64)
			r := rand.New(rand.NewPCG(plan.Seed, 0))
			speed(trials, func(*bench.Trial) float64 { return math.Exp(0.015 * r.NormFloat64()) })
		case "blocks":
			plan.Trials, err = strconv.Atoi(value)
			trials = slices.DeleteFunc(trials, func(t *bench.Trial) bool { return t.Block >= plan.Trials })
		case "factor":
			lock, text, _ := strings.Cut(value, ":")
			var factor float64
			factor, err = strconv.ParseFloat(text, 64)
			speed(trials, func(t *bench.Trial) float64 {
				if s, _ := plan.Subject(t.Subject); s.Lock == lock {
					return factor
				}
				return 1
			})
		case "unsafe":
			for _, t := range trials {
				if t.Subject == value && t.Block == plan.Trials-1 {
					t.Judged.Violated = []bench.Violation{{Property: "mutual-exclusion", Text: "two clients held k0 at once"}}
				}
			}
		case "blind":
			for _, t := range trials {
				if t.Unsafe() != nil {
					t.Judged.Violated = nil
				}
			}
		case "thresholds":
			err = json.Unmarshal([]byte(ts.ReadFile(value)), &plan.Thresholds)
		default:
			ts.Fatalf("unknown option %s", arg)
		}
		ts.Check(err)
	}
	ts.Check(bench.WritePlan(ts.MkAbs(args[0]), plan))
	for _, t := range trials {
		ts.Check(bench.WriteTrial(ts.MkAbs(args[0]), t))
	}
}

// speed multiplies the goodput and the utilisation of each trial by the factor for that trial.
func speed(trials []*bench.Trial, factor func(*bench.Trial) float64) {
	for _, t := range trials {
		by := factor(t)
		for _, metric := range []string{"goodput", "utilisation"} {
			if v, ok := t.Figures[metric]; ok {
				t.Figures[metric] = v * by
			}
		}
	}
}
