//go:build !unix

package servers

import "syscall"

// There are no process groups here, and no /bin/sh for the keeper either: local servers do not start, and
// the error says so.
func inOwnGroup() *syscall.SysProcAttr { return nil }

func apart() *syscall.SysProcAttr { return nil }
