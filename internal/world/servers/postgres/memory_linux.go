package postgres

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// removeWithProcesses marks a shared memory segment for removal. Linux removes it when the last process that uses it
// ends.
func removeWithProcesses(id int) error {
	_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	// EINVAL and EIDRM mean that the segment is already removed or marked.
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM) {
		return fmt.Errorf("mark a segment of shared memory: %w", err)
	}
	return nil
}
