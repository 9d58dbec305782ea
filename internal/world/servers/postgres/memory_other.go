//go:build !linux

package postgres

// removeWithProcesses does nothing. On systems other than Linux, no process can attach to a segment that is marked for
// removal.
func removeWithProcesses(int) error { return nil }
