package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"lockbench/impls"
	"lockbench/workloads"
)

// firstUses is a lock and a guarded resource. It records the order in which they are used.
type firstUses struct {
	mu   sync.Mutex
	uses []string
}

func (f *firstUses) used(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uses = append(f.uses, fmt.Sprintf(format, args...))
}

func (f *firstUses) Acquire(_ context.Context, r impls.Request) (impls.Hold, error) {
	f.used("acquire %s", strings.TrimSuffix(r.Key, ".0"))
	return impls.Hold{}, nil
}
func (f *firstUses) Release(context.Context, impls.Grant) error { return nil }
func (f *firstUses) Close() error                               { return nil }

func (f *firstUses) Read(_ context.Context, key string, _ int64) (int64, error) {
	f.used("read %s", key)
	return 7, nil
}

func (f *firstUses) Write(_ context.Context, key string, value, _ int64) error {
	f.used("write %s %d", key, value)
	return nil
}
func (f *firstUses) Append(context.Context, string, int64) error { return nil }

// TestResourceIsWarm checks that each process uses the guarded resource before its first acquire. The use must not
// change the resource.
func TestResourceIsWarm(t *testing.T) {
	uses := &firstUses{}
	tr := newTrial(Setting{Params: workloads.Defaults()}, Cell{}, t.TempDir(), nil)
	tr.Params.Clients, tr.Params.Processes = 2, 2
	tr.fresh = workloads.Process{Lock: uses, Resource: uses}
	tr.processes = []workloads.Process{tr.fresh, tr.fresh}
	if err := tr.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	for client := range 3 {
		var got []string
		for _, use := range uses.uses {
			if slices.Contains(strings.Fields(use), fmt.Sprint("connect", client)) {
				got = append(got, strings.Fields(use)[0])
			}
		}
		if want := "read write acquire"; strings.Join(got, " ") != want {
			t.Errorf("client %d: %q, want %q", client, got, want)
		}
	}
	if !slices.Contains(uses.uses, "write connect0 7") {
		t.Errorf("the write changed the resource: %q", uses.uses)
	}
}
