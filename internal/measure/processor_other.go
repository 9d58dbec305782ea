//go:build !unix

package measure

import "time"

// ownProcessorTime is not known here.
func ownProcessorTime() time.Duration { return 0 }
