package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"lockbench/reports/bench/benchtest"
)

// makeBench DIR [OPTION...] makes a synthetic bench folder: seed=2, blocks=3, factor=fenced:0.8, unsafe=redsync, blind,
// thresholds=FILE.
func makeBench(ts *testscript.TestScript, _ bool, args []string) {
	o := benchtest.Options{OnlyFigures: true}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		var err error
		switch name {
		case "seed":
			o.Seed, err = strconv.ParseUint(value, 10, 64)
		case "blocks":
			o.Blocks, err = strconv.Atoi(value)
		case "factor":
			subject, factor, _ := strings.Cut(value, ":")
			o.Factor = map[string]float64{}
			o.Factor[subject], err = strconv.ParseFloat(factor, 64)
		case "unsafe":
			o.Unsafe = append(o.Unsafe, value)
		case "blind":
			o.BlindJudge = true
		case "thresholds":
			err = json.Unmarshal([]byte(ts.ReadFile(value)), &o.Thresholds)
		default:
			ts.Fatalf("unknown option %s", arg)
		}
		ts.Check(err)
	}
	ts.Check(benchtest.Folder(ts.MkAbs(args[0]), o))
}
