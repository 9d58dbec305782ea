//go:build !linux

package postgres

// removeWithProcesses does nothing: only Linux lets processes attach to a segment that is marked for removal.
func removeWithProcesses(int) error { return nil }
