package locktest

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/simulate/explore"
)

// childVariable is the environment variable of a child process. Its value is a mode and the name of a lock.
const childVariable = "LOCKBENCH_LOCKTEST"

// Modes of child processes. Run starts processes of clients, and Explore starts processes that search for violations.
const (
	modeWorker   = "worker"
	modeExplorer = "explorer"
)

func isChild() bool { return os.Getenv(childVariable) != "" }

// command returns the command line of a child process.
func (s *suite) command(mode string) ([]string, error) {
	self, err := os.Executable()
	return []string{"env", childVariable + "=" + mode + ":" + s.Name, self, "-test.run=" + pattern(s.test)}, err
}

// serve runs a child process: it executes the parent's requests on the lock, and then exits. It returns at once if the
// child was started for another call of Run or Explore.
func (s *suite) serve(mode string) {
	if wanted, name, _ := strings.Cut(os.Getenv(childVariable), ":"); wanted != mode || name != s.Name {
		return
	}
	out := *os.Stdout
	*os.Stdout = *os.Stderr // also redirects loggers that were created earlier
	var err error
	if mode == modeExplorer {
		debug.SetGCPercent(400)
		explore.Register(s.lock)
		err = explore.Serve(os.Stdin, &out, func() { os.Exit(0) })
	} else {
		about := worker.AboutLock(s.lock)
		err = worker.Serve(os.Stdin, &out, func(worker.Open) (worker.About, error) { return about, nil },
			func(_ worker.Open, env impls.Env) (impls.Lock, error) { return opened(s.lock.Open(env)) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// opened returns its arguments, which are the results of an Open function. If both are nil, it returns an error.
func opened(lock impls.Lock, err error) (impls.Lock, error) {
	if lock == nil && err == nil {
		err = errors.New("the function that opens the lock returned nil")
	}
	return lock, err
}
