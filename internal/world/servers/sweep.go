package servers

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	sweepWithin = 30 * time.Second // bounds the tidying after a trial; a server may have very many keys
	sweepBatch  = 500              // keys looked at, or removed, per command: no command may take long there
)

// Keys are named lockbench:<run>:<key>, and nothing else on a server is ours.
const keyRoot = "lockbench:"

// KeyPrefix is what every key of a run begins with.
func KeyPrefix(run string) string { return keyRoot + run + ":" }

// runOf finds the run in a key. It is strict: a key of somebody else's may look similar.
var runOf = regexp.MustCompile(`^lockbench:([0-9]{14}-[0-9]+-[0-9a-f]{16}):`)

// RunBegan tells when a run began, from its id; false where the text is no id of a run.
func RunBegan(run string) (time.Time, bool) {
	if m := runOf.FindStringSubmatch(KeyPrefix(run)); m == nil || m[1] != run {
		return time.Time{}, false
	}
	at, err := time.Parse("20060102150405", run[:14])
	return at, err == nil
}

// Sweep removes the keys of a run from servers that are not ours; ours are gone with their data anyway.
func (g *Group) Sweep(run string) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepWithin) // also after an interrupt
	defer cancel()
	var errs []error
	const left = "keys of this run may be left on %s (lockbench clean --%s ... --run %s removes them): %w"
	for i, n := range g.Nodes {
		switch n := n.(type) {
		case *external:
			if _, err := n.remote.Remove(ctx, n.Address, run); err != nil {
				errs = append(errs, fmt.Errorf(left, n.Address, Redis, run, err))
			}
		case *their:
			if i > 0 { // they are one
				continue
			}
			if err := n.target.Remove(ctx, run); err != nil {
				errs = append(errs, fmt.Errorf(left, n.target, n.target.store, run, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Runs counts the keys of each run on a server.
func (r Remote) Runs(ctx context.Context, a Address) (map[string]int, error) {
	runs, seen := map[string]int{}, map[string]bool{} // a scan may show a key twice
	err := r.scan(ctx, a, keyRoot, func(_ *redis.Client, keys []string) error {
		for _, key := range keys {
			m := runOf.FindStringSubmatch(key)
			if m == nil || seen[key] {
				continue
			}
			if _, ok := RunBegan(m[1]); ok {
				seen[key] = true
				runs[m[1]]++
			}
		}
		return nil
	})
	return runs, err
}

// Remove removes the keys of a run and says how many there were.
func (r Remote) Remove(ctx context.Context, a Address, run string) (int, error) {
	if run == "" {
		return 0, errors.New("remove the keys of a run: it has no id")
	}
	removed := 0
	err := r.scan(ctx, a, KeyPrefix(run), func(c *redis.Client, keys []string) error {
		n, err := c.Unlink(ctx, keys...).Result()
		removed += int(n)
		return err
	})
	return removed, err
}

// scan visits the keys that begin with a prefix, some at a time, in a way that a busy server hardly notices.
func (r Remote) scan(ctx context.Context, a Address, prefix string, visit func(*redis.Client, []string) error) error {
	c, err := r.client(a)
	if err != nil {
		return err
	}
	defer c.Close()
	for cursor := uint64(0); ; {
		keys, next, err := c.Scan(ctx, cursor, literally(prefix)+"*", sweepBatch).Result()
		if err != nil {
			return fmt.Errorf("scan %s: %w", a, explain(err))
		}
		var ours []string
		for _, key := range keys {
			if strings.HasPrefix(key, prefix) { // the pattern says so already; this must not be wrong
				ours = append(ours, key)
			}
		}
		if len(ours) > 0 {
			if err := visit(c, ours); err != nil {
				return fmt.Errorf("keys on %s: %w", a, explain(err))
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// literally makes a pattern that matches a text and nothing else.
func literally(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}
