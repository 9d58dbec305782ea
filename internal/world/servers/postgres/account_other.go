//go:build !unix

package postgres

import "os/exec"

// runs would make a command run as the account: there is no root here who would need another.
func (a *account) runs(*exec.Cmd) {}
