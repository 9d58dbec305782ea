package workloads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"lockbench/histories"
	"lockbench/impls"
)

// TestRelease checks releases with an unknown outcome. If the lock allows it, the release must be repeated once. Each
// attempt must be recorded.
func TestRelease(t *testing.T) {
	unknown := errors.New("the connection was lost")
	for name, c := range map[string]struct {
		repeats bool
		errs    []error  // errors of the first attempts; later attempts succeed
		depth   int      // depth of the grant
		want    []string // outcomes that must be recorded
	}{
		"repeated":            {true, []error{unknown}, 1, []string{"unknown", "ok"}},
		"repeated once":       {true, []error{unknown, unknown}, 1, []string{"unknown", "unknown"}},
		"released by then":    {true, []error{unknown, impls.ErrNotHeld}, 1, []string{"unknown", "refused"}},
		"known":               {true, nil, 1, []string{"ok"}},
		"refused":             {true, []error{impls.ErrNotHeld}, 1, []string{"refused"}},
		"the process is gone": {true, []error{ErrGone}, 1, []string{"unknown"}},
		"nested":              {true, []error{unknown}, 2, []string{"unknown"}}, // a repetition could free the outer hold
		"not allowed":         {false, []error{unknown}, 1, []string{"unknown"}},
	} {
		var file bytes.Buffer
		rec, err := histories.NewRecorder(&file, histories.Header{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		attempts := 0
		lock := fake{func(ctx context.Context, r impls.Request) (impls.Hold, error) {
			h, err := grant(ctx, r)
			h.Depth = c.depth
			return h, err
		}, func(context.Context, impls.Grant) error {
			attempts++
			if attempts > len(c.errs) {
				return nil
			}
			return c.errs[attempts-1]
		}}
		d := &Drive{Params: Defaults(), Recorder: rec, Granted: new(atomic.Int64), Rereleases: c.repeats}
		client := d.client(0, Process{Lock: lock})
		h, _ := client.Acquire(t.Context(), "k", 0)
		client.Release(t.Context(), h)
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		if got := releases(t, &file); !slices.Equal(got, c.want) || attempts != len(c.want) {
			t.Errorf("%s: %d attempts, recorded as %q; want %q", name, attempts, got, c.want)
		}
	}
}

// releases returns the outcomes of the releases in a history.
func releases(t *testing.T, file *bytes.Buffer) (outcomes []string) {
	t.Helper()
	r, err := histories.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := histories.Replay(r.Next, func(ev histories.Event) error {
		if ev.Return && ev.Op.Kind == histories.Release {
			outcomes = append(outcomes, fmt.Sprint(ev.Op.Outcome))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return outcomes
}
