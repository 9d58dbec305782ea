package redis

import (
	"errors"
	"testing"
)

// TestFirstServerIsNamed checks that votes.err returns the error of the first server in the list, not of the first to
// fail.
func TestFirstServerIsNamed(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		v := votes{missed: make([]error, 3)}
		errs := []error{errors.New("a"), errors.New("b"), errors.New("c")}
		for _, at := range order {
			v.missed[at] = errs[at]
		}
		if v.err() != errs[0] {
			t.Errorf("%v: %v", order, v.err())
		}
	}
}
