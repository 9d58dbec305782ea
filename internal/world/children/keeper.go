package children

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// keeperScript reads requests, one per line. When its input ends, it kills the listed process groups and removes the
// listed folders. It ignores signals, so it ends only when the harness closes the input or dies.
//
// The script kills process groups instead of single processes. The system may reuse a process ID, but rarely as a
// group ID. The script sleeps before it removes folders, because a killed process may still be writing.
const keeperScript = `
trap '' INT TERM HUP
echo up
pids=
while read -r verb arg; do
	case $verb in
	kill) pids="$pids $arg" ;;
	forget)
		left=
		for p in $pids; do [ "$p" = "$arg" ] || left="$left $p"; done
		pids=$left ;;
	remove) set -- "$@" "$arg" ;;
	esac
done
for p in $pids; do kill -s KILL -- "-$p"; done
[ -z "$pids" ] || sleep 1
for dir; do rm -rf -- "$dir"; done
`

// Keeper starts children and kills them when the harness ends, even if the harness is killed.
type Keeper struct {
	script *Child
	pipe   *os.File
	starts chan func()
	gone   chan struct{} // closed by Close; Start then returns an error
	once   sync.Once
	closed error
}

// New starts a helper process, the keeper. It kills lockbench's child processes when lockbench ends. Call Close to end
// the keeper.
func New() (*Keeper, error) {
	cmd := exec.Command("/bin/sh", "-c", keeperScript, "lockbench-keeper")
	cmd.Dir, cmd.SysProcAttr = "/", newSessionAttr()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe to the keeper: %w", err)
	}
	defer r.Close()
	cmd.Stdin = r
	says, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the keeper: %w", err), w.Close())
	}
	_, err = io.ReadFull(says, make([]byte, len("up\n"))) // from now on the script ignores signals
	k := &Keeper{pipe: w, starts: make(chan func()), gone: make(chan struct{}), script: watch(cmd, func() {})}
	go k.runStarts()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the keeper: %w", err), k.Close())
	}
	return k, nil
}

// runStarts starts all children from one thread that never ends. On Linux a child is killed when the thread that started
// it ends, and the Go runtime may end other threads.
func (k *Keeper) runStarts() {
	runtime.LockOSThread()
	for {
		select {
		case start := <-k.starts:
			start()
		case <-k.gone:
			return
		}
	}
}

// Start starts a command as a child that is killed when k is closed or when lockbench ends. It sets cmd.WaitDelay,
// and replaces cmd.SysProcAttr except for the field Credential.
func (k *Keeper) Start(cmd *exec.Cmd) (*Child, error) {
	cmd.SysProcAttr, cmd.WaitDelay = inOwnGroup(cmd.SysProcAttr), outputTimeout
	result := make(chan error)
	select {
	case k.starts <- func() { result <- cmd.Start() }:
	case <-k.gone:
		return nil, errors.New("start a child: the keeper is closed")
	}
	if err := <-result; err != nil {
		return nil, err
	}
	// Register the child with the keeper ("kill") before it can be reaped ("forget"). In the opposite order, the process
	// ID would stay in the keeper's list. The keeper could then kill another process that reuses the ID.
	pid := strconv.Itoa(cmd.Process.Pid)
	err := k.tell("kill", pid)
	c := watch(cmd, func() { _ = k.tell("forget", pid) })
	c.tell = k.tell
	if err != nil {
		return nil, errors.Join(err, c.Kill())
	}
	return c, nil
}

// Folder creates a temporary folder. When this process ends, the keeper removes the folder if it still exists.
func (k *Keeper) Folder() (string, error) {
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", folderPrefix, os.Getpid())) // Leftovers parses the process ID from the name
	if err != nil {
		return "", err
	}
	if err := k.tell("remove", dir); err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return dir, nil
}

func (k *Keeper) tell(verb, arg string) error {
	if _, err := fmt.Fprintf(k.pipe, "%s %s\n", verb, arg); err != nil {
		return fmt.Errorf("write to the keeper: %w", err)
	}
	return nil
}

// Close ends the keeper. The keeper then kills the processes and removes the folders in its list. Later calls return the
// result of the first call.
func (k *Keeper) Close() error {
	k.once.Do(func() {
		close(k.gone)
		k.closed = k.script.Stop(k.pipe.Close)
	})
	return k.closed
}

// folderPrefix is the prefix of the names of temporary folders. The ID of the process that owns the folder follows.
const folderPrefix = "lockbench-"

var ownedFolder = regexp.MustCompile(`^` + folderPrefix + `([0-9]+)-[0-9]+$`)

// Leftover is a temporary folder whose owner has ended.
type Leftover struct {
	Dir   string
	Owner int // ID of the process that created the folder
	Since time.Time
}

// Leftovers returns the temporary folders whose owner has ended. It skips a folder if a process with the owner's ID
// exists.
func Leftovers() ([]Leftover, error) {
	tmp := os.TempDir()
	entries, err := os.ReadDir(tmp)
	if err != nil {
		return nil, fmt.Errorf("list temporary folders: %w", err)
	}
	var all []Leftover
	for _, e := range entries {
		m := ownedFolder.FindStringSubmatch(e.Name())
		if m == nil || !e.IsDir() { // IsDir is false for symbolic links
			continue
		}
		pid, err := strconv.Atoi(m[1])
		if err != nil || pid < 1 || !Gone(pid) {
			continue
		}
		if info, err := e.Info(); err == nil {
			all = append(all, Leftover{filepath.Join(tmp, e.Name()), pid, info.ModTime()})
		}
	}
	return all, nil
}

// Remove deletes the folder and its contents.
func (l Leftover) Remove() error { return os.RemoveAll(l.Dir) }

// Gone reports whether no process has the process ID pid.
func Gone(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}
