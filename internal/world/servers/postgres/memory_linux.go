package postgres

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// removeWithProcesses marks a shared memory segment for removal when its last process ends.
func removeWithProcesses(id int) error {
	_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM) { // it has been marked before
		return fmt.Errorf("mark a segment of shared memory: %w", err)
	}
	return nil
}
