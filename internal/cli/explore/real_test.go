package explore

import (
	"runtime"
	"testing"

	"lockbench/internal/simulate/explore"
)

// TestJobsFor checks that the lock whose servers need the most processor time limits the number of concurrent trials.
func TestJobsFor(t *testing.T) {
	for _, c := range []struct {
		locks []string
		want  int // for each core
	}{{[]string{"fenced"}, realJobs}, {[]string{"redlock"}, otherJobs}, {[]string{"etcd"}, otherJobs}, {[]string{"zookeeper"}, slowJobs},
		{[]string{"zookeeper", "fenced", "etcd"}, slowJobs}} {
		var subjects []explore.Subject
		for _, l := range c.locks {
			subjects = append(subjects, explore.Subject{Lock: l})
		}
		if got := jobsFor(subjects); got != c.want*runtime.NumCPU() {
			t.Errorf("%v: %d trials at once, want %d for each core", c.locks, got, c.want)
		}
	}
}
