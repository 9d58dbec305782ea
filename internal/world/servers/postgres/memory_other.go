//go:build !linux

package postgres

// goWithProcesses would mark a segment of shared memory to go with its processes.
func goWithProcesses(int) error { return nil }
