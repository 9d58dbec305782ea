package postgres

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// removeWithProcesses marks a shared memory segment for removal. Linux removes the segment when the last process that
// uses the segment ends.
func removeWithProcesses(id int) error {
	_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM) { // EINVAL, EIDRM: the segment is gone or already marked
		return fmt.Errorf("mark a segment of shared memory: %w", err)
	}
	return nil
}
