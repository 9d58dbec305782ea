package servers

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Root begins the name of everything that is ours on a server: lockbench:<run>:<key>.
const Root = "lockbench:"

// KeyPrefix returns what every key of a run begins with.
func KeyPrefix(run string) string { return Root + run + ":" }

// runOf finds the run in a name. It is strict: a name of somebody else's may look similar.
var runOf = regexp.MustCompile(`^lockbench:([0-9]{14}-[0-9]+-[0-9a-f]{16}):`)

// RunBegan returns when a run began, from its id; false if the text is not the id of a run.
func RunBegan(run string) (time.Time, bool) {
	if m := runOf.FindStringSubmatch(KeyPrefix(run)); m == nil || m[1] != run {
		return time.Time{}, false
	}
	at, err := time.Parse("20060102150405", run[:14])
	return at, err == nil
}

// Sweep removes what a run left on servers that are not ours; ours are gone with their data anyway.
func (g *Group) Sweep(run string) error {
	ctx, cancel := context.WithTimeout(context.Background(), SweepWithin) // also after an interrupt
	defer cancel()
	var errs []error
	swept := map[string]bool{} // servers of one target share their data
	for _, n := range g.Nodes {
		e, ok := n.(*external)
		if !ok || swept[e.target.String()] {
			continue
		}
		swept[e.target.String()] = true
		if err := e.target.Remove(ctx, run); err != nil {
			errs = append(errs, fmt.Errorf("keys of this run may be left on %s (lockbench clean --%s ... --run %s removes them): %w", e.target, e.target.Store(), run, err))
		}
	}
	return errors.Join(errs...)
}

// Runs counts what each run has on the servers.
func (t Target) Runs(ctx context.Context) (map[string]int, error) {
	runs, seen := map[string]int{}, map[string]bool{} // a name may be shown twice
	err := t.names(ctx, Root, func(names []string) error {
		for _, name := range names {
			m := runOf.FindStringSubmatch(name)
			if m == nil || seen[name] {
				continue
			}
			if _, ok := RunBegan(m[1]); ok {
				seen[name] = true
				runs[m[1]]++
			}
		}
		return nil
	})
	return runs, err
}

func (t Target) names(ctx context.Context, prefix string, visit func([]string) error) error {
	ctx, cancel := context.WithTimeout(ctx, SweepWithin)
	defer cancel()
	if err := t.of.External.Names(ctx, t, prefix, visit); err != nil {
		return fmt.Errorf("look through %s: %w", t, t.hide(err))
	}
	return nil
}

// Remove removes what a run has on the servers.
func (t Target) Remove(ctx context.Context, run string) error {
	if _, ok := RunBegan(run); !ok {
		return errors.New("remove what a run left: that is not the id of one")
	}
	ctx, cancel := context.WithTimeout(ctx, SweepWithin)
	defer cancel()
	if err := t.of.External.Remove(ctx, t, KeyPrefix(run)); err != nil {
		return fmt.Errorf("remove from %s: %w", t, t.hide(err))
	}
	return nil
}

// After returns the first name, in the order of bytes, after all that begin with a prefix that ends with a colon.
func After(prefix string) string { return strings.TrimSuffix(prefix, ":") + ";" }
