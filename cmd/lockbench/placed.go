package main

import (
	"strings"

	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/trial"
)

// placed is locks and what they are deployed on; "": each on its usual one.
type placed struct {
	locks []impls.Impl
	on    string
}

// isPlaced tells whether a name is of a lock on a deployment: lock@deployment. A URL in the wrong place is not: what
// stands before its @ may be a password, and is only known for one while it is whole.
func isPlaced(name string) bool { return strings.Contains(name, "@") && !strings.Contains(name, "://") }

// elsewhere are the locks that were named with a deployment.
func (f *runFlags) elsewhere() ([]placed, error) {
	var all []placed
	for _, name := range f.locks {
		if !isPlaced(name) {
			continue
		}
		lock, on, _ := strings.Cut(name, "@")
		locks, err := choose("lock", catalog.All(), func(l impls.Impl) string { return l.Name }, []string{lock})
		if err != nil {
			return nil, err
		}
		if err := trial.Deployed(locks[0], on); err != nil {
			return nil, usage(err, "without @ a lock is tried on its usual deployment")
		}
		all = append(all, placed{locks, on})
	}
	return all, nil
}
