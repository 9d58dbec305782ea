//go:build unix && !linux

package children

import "syscall"

func dieWithParent(*syscall.SysProcAttr) {}
