//go:build !linux

package postgres

// removeWithProcesses does nothing: on systems other than Linux no process could attach to a marked segment.
func removeWithProcesses(int) error { return nil }
