//go:build !unix

package children

import (
	"errors"
	"syscall"
)

// inOwnGroup returns nil on systems without process groups. No child can be started there, so the result is not used.
func inOwnGroup(*syscall.SysProcAttr) *syscall.SysProcAttr { return nil }

func newSessionAttr() *syscall.SysProcAttr { return nil }

var errNoGroups = errors.New("this system has no process groups")

func killGroup(int) error { return errNoGroups }

func pauseGroup(int) error { return errNoGroups }

func resumeGroup(int) error { return errNoGroups }
