//go:build !unix

package bench

import "time"

// ownProcessorTime is not known here.
func ownProcessorTime() time.Duration { return 0 }
