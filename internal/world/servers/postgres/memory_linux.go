package postgres

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// goWithProcesses marks a segment of shared memory to go when the last process that has it ends.
func goWithProcesses(id int) error {
	_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM) { // it is marked already
		return fmt.Errorf("mark a segment of shared memory: %w", err)
	}
	return nil
}
