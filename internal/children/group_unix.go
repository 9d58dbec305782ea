//go:build unix && !linux

package children

import (
	"errors"
	"syscall"
)

// inOwnGroup keeps Ctrl-C at the terminal from the children, which must outlive it until the run has been
// judged. There is no dying with the parent here: the keeper alone ends them with the harness.
func inOwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func threadStates(int) (string, error) { return "", errors.New("only Linux shows it") }
