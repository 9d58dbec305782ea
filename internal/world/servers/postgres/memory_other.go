//go:build !linux

package postgres

// removeWithProcesses does nothing on systems other than Linux. If it marked a segment of shared memory for removal
// there, no further process could attach to the segment.
func removeWithProcesses(int) error { return nil }
