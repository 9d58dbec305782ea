//go:build !linux

package postgres

// removeWithProcesses does nothing on systems other than Linux. On these systems, no further process could attach to a
// segment that is marked for removal.
func removeWithProcesses(int) error { return nil }
