package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"lockbench/internal/servers"
	"lockbench/reports/benchmark"
)

// suiteToGate is how gate comes by a suite's thresholds, and by a run of it.
func suiteToGate() *gateSuite {
	return &gateSuite{
		thresholds: func(name string) ([]benchmark.Threshold, error) {
			s, err := readSuite(name)
			if err != nil {
				return nil, err
			}
			return s.Thresholds, nil
		},
		run: benchForGate,
	}
}

// benchForGate measures a suite. That a figure is withheld, or a lock was unsafe, is for the gate to say.
func benchForGate(ctx context.Context, cmd *cobra.Command, suite string) (string, error) {
	f := &benchFlags{suite: suite, servers: servers.Auto}
	b, err := f.prepare(cmd)
	if err != nil {
		return "", err
	}
	b.stdout = io.Discard
	err = b.run(ctx)
	var code *exit
	if errors.As(err, &code) && (code.code == exitBroken || code.code == exitUndecided) {
		err = nil
	}
	return b.bench.Dir, err
}
