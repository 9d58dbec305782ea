//go:build !unix

package children

import (
	"errors"
	"os/exec"
	"syscall"
)

// There are no process groups here, and no /bin/sh for the keeper either: no child starts, and the error says
// so.
func inOwnGroup() *syscall.SysProcAttr { return nil }

func apart() *syscall.SysProcAttr { return nil }

var errNoGroups = errors.New("there are no process groups on this system")

func killGroup(*exec.Cmd) error { return errNoGroups }

func pauseGroup(*exec.Cmd) error { return errNoGroups }

func resumeGroup(*exec.Cmd) error { return errNoGroups }

func threadStates(int) (string, error) { return "", errNoGroups }
