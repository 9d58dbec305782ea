package console

import (
	"errors"
	"slices"
	"sync"
	"testing"
)

// TestNewFolder: runs that begin at the same moment have folders of their own.
func TestNewFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	var all sync.WaitGroup
	dirs := make([]string, 20)
	for i := range dirs {
		all.Go(func() {
			var err error
			if dirs[i], err = newFolder("now"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	slices.Sort(dirs)
	if len(slices.Compact(dirs)) != 20 {
		t.Errorf("two runs share a folder: %v", dirs)
	}
}

func TestGravestCodeWins(t *testing.T) {
	for _, c := range []struct {
		found Codes
		want  int
	}{
		{Codes{ExitFail: true, ExitXPass: true}, ExitFail}, {Codes{ExitInconclusive: true, ExitXPass: true}, ExitXPass},
		{Codes{ExitInterrupted: true, ExitInternal: true}, ExitInterrupted}, {Codes{ExitInternal: true, ExitFail: true}, ExitInternal},
	} {
		var e *Exit
		if err := c.found.Err(); !errors.As(err, &e) || e.Code != c.want {
			t.Errorf("%v: %v, want %d", c.found, err, c.want)
		}
	}
	if err := (Codes{0: true}).Err(); err != nil {
		t.Errorf("nothing found: %v", err)
	}
}
