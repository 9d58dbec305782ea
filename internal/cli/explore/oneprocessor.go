package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"lockbench/internal/cli/console"
	"lockbench/internal/world/children"
)

// endsWithin is how long a run that was interrupted may take to put its things in order.
const endsWithin = 20 * time.Second

// onOneProcessor runs this program again, with the same arguments, on one processor, unless it does so already: only
// then does the same trial in virtual time record the same. done tells that it did, and that all was said. The other
// program ends with this one, whatever becomes of it; the error has its exit code.
func onOneProcessor(ctx context.Context, stdout, stderr io.Writer) (done bool, err error) {
	if runtime.GOMAXPROCS(0) == 1 {
		return false, nil
	}
	const hint = "GOMAXPROCS=1 in the environment makes it needless to start this program again"
	self, err := os.Executable()
	if err != nil {
		return true, console.Environment(fmt.Errorf("this program cannot find itself: %w", err), hint)
	}
	keeper, err := children.New()
	if err != nil {
		return true, console.Environment(err, hint)
	}
	defer func() { err = errors.Join(err, keeper.Close()) }()
	again := exec.Command(self, os.Args[1:]...)
	again.Env = append(os.Environ(), "GOMAXPROCS=1")
	again.Stdout, again.Stderr = stdout, stderr
	child, err := keeper.Start(again)
	if err != nil {
		return true, console.Environment(err, hint)
	}
	if err := await(ctx, child, again); err != nil {
		return true, console.Environment(err, hint)
	}
	switch code := again.ProcessState.ExitCode(); {
	case ctx.Err() != nil:
		return true, &console.Exit{Code: console.ExitInterrupted}
	case code < 0:
		return true, console.Environment(fmt.Errorf("the program that was started on one processor ended by itself (%s)", child.State()), hint)
	case code > 0:
		return true, &console.Exit{Code: code}
	}
	return true, nil
}

// await waits for the end of a child, and hands an interrupt on to it.
func await(ctx context.Context, child *children.Child, of *exec.Cmd) error {
	select {
	case <-child.Done():
		return nil
	case <-ctx.Done():
	}
	_ = of.Process.Signal(os.Interrupt) // where it has ended, that is what is waited for
	timer := time.NewTimer(endsWithin)
	defer timer.Stop()
	select {
	case <-child.Done():
		return nil
	case <-timer.C:
		return child.Kill()
	}
}

// onAllProcessors takes the bound back, for what is done in real time: also for the processes that are started then.
func onAllProcessors() {
	os.Unsetenv("GOMAXPROCS")
	runtime.SetDefaultGOMAXPROCS()
}
