//go:build unix

package measure

import (
	"syscall"
	"time"
)

// ownProcessorTime returns the processor time of this process so far.
func ownProcessorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
