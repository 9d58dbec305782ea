package run

import (
	"slices"
	"strings"
	"testing"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/trial"
)

// TestPeersAreChosenByName checks that third-party locks run only if --locks names them.
func TestPeersAreChosenByName(t *testing.T) {
	for _, c := range []struct {
		named []string
		want  []string // third-party locks that must run
	}{
		{nil, nil},
		{[]string{"set-px-lua", "redislock"}, []string{"redislock"}},
		{[]string{"zk-lock"}, []string{"zk-lock"}},
	} {
		f := &flags{}
		f.locks = c.named
		locks, err := f.chosenLocks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range locks {
			if l.ThirdParty {
				got = append(got, l.Name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of %q: %q, want %q", c.named, got, c.want)
		}
		if c.named == nil && len(locks) != len(catalog.Own()) {
			t.Errorf("%d locks without a name, want %d", len(locks), len(catalog.Own()))
		}
	}
}

// TestOnlyTheControlIsLeft checks that a run is refused if only the negative control can use the given servers.
func TestOnlyTheControlIsLeft(t *testing.T) {
	r := Runner{flags: &flags{}, cells: []trial.Cell{{Lock: impls.Impl{Name: "none"}}}, notes: []string{"redlock is left out"}}
	if err := r.checkServers(t.Context()); err == nil || !strings.Contains(err.Error(), "redlock is left out") {
		t.Errorf("got %v", err)
	}
}
