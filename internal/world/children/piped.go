package children

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// StartPiped starts a command with pipes for the caller to close: those of os/exec are closed before they are read.
func (k *Keeper) StartPiped(command []string, stderr io.Writer) (c *Child, in, out *os.File, err error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, errors.Join(err, in.Close())
	}
	defer theirOut.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, stderr
	if c, err = k.Start(cmd); err != nil {
		return nil, nil, nil, errors.Join(err, in.Close(), out.Close())
	}
	return c, in, out, nil
}
