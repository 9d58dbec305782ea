//go:build !unix

package children

import (
	"errors"
	"syscall"
)

// There are no process groups here, and no /bin/sh for the keeper: no child starts.
func inOwnGroup(*syscall.SysProcAttr) *syscall.SysProcAttr { return nil }

func apart() *syscall.SysProcAttr { return nil }

var errNoGroups = errors.New("there are no process groups on this system")

func killGroup(int) error { return errNoGroups }

func pauseGroup(int) error { return errNoGroups }

func resumeGroup(int) error { return errNoGroups }
