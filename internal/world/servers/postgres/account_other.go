//go:build !unix

package postgres

import "os/exec"

// runs does nothing: without root the server runs as the current user.
func (a *account) runs(*exec.Cmd) {}
