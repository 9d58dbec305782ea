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

// keeperScript reads what to end, one request per line, and ends it when its input does. It hears neither
// Ctrl-C nor a polite request to stop, so its input ends exactly when the harness lets go of it, and that
// is also when the harness was killed and could not clean up itself.
//
// Children are killed by process group: a number that was meanwhile given to a stranger is hardly ever the
// number of a group too. The second of patience lets a dying one finish what it is writing, which would
// otherwise bring its folder back.
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

// Keeper starts children and ends them, whatever becomes of the harness. Each group of children has one.
type Keeper struct {
	script *Child
	pipe   *os.File
	starts chan func()
	gone   chan struct{} // closed when nothing is started any more
	once   sync.Once
	closed error
}

// New starts a keeper, which is a process of its own; Close ends it.
func New() (*Keeper, error) {
	cmd := exec.Command("/bin/sh", "-c", keeperScript, "lockbench-keeper")
	cmd.Dir, cmd.SysProcAttr = "/", apart()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe to the keeper: %w", err)
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
	_, err = io.ReadFull(says, make([]byte, len("up\n"))) // from here on it hears no signal
	k := &Keeper{pipe: w, starts: make(chan func()), gone: make(chan struct{}), script: watch(cmd, func() {})}
	go k.startAll()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the keeper: %w", err), k.Close())
	}
	return k, nil
}

// startAll is the one thread that children are started from. The kernel's "die with your parent" means
// the parent thread, and the runtime ends threads when it likes: this one is locked and never unlocked,
// so it lasts until the keeper is closed.
func (k *Keeper) startAll() {
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

// Start starts a child that ends with the harness at the latest, and with the keeper. The command's
// SysProcAttr is set here, but for the user that it is to run as, and its WaitDelay.
func (k *Keeper) Start(cmd *exec.Cmd) (*Child, error) {
	cmd.SysProcAttr, cmd.WaitDelay = inOwnGroup(cmd.SysProcAttr), outputWithin
	result := make(chan error)
	select {
	case k.starts <- func() { result <- cmd.Start() }:
	case <-k.gone:
		return nil, errors.New("the keeper of this process has been closed")
	}
	if err := <-result; err != nil {
		return nil, err
	}
	// Told before it can be reaped: a "forget" that overtook its "kill" would leave the number on the
	// list for the process that gets it next.
	pid := strconv.Itoa(cmd.Process.Pid)
	err := k.tell("kill", pid)
	c := watch(cmd, func() { _ = k.tell("forget", pid) })
	c.tell = k.tell
	if err != nil {
		return nil, errors.Join(err, c.Kill())
	}
	return c, nil
}

// Folder makes a temporary folder that goes with the harness at the latest. The caller removes it.
func (k *Keeper) Folder() (string, error) {
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", folderPrefix, os.Getpid())) // whose it is: see Leftovers
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
		return fmt.Errorf("tell the keeper: %w", err)
	}
	return nil
}

// Close lets go of the keeper, which ends what is still on its list. It may be called again.
func (k *Keeper) Close() error {
	k.once.Do(func() {
		close(k.gone)
		k.closed = k.script.Stop(k.pipe.Close)
	})
	return k.closed
}

// folderPrefix begins the name of every temporary folder; the number of the process that owns it follows.
const folderPrefix = "lockbench-"

var ownedFolder = regexp.MustCompile(`^` + folderPrefix + `([0-9]+)-[0-9]+$`)

// Leftover is a temporary folder whose owner is gone: not even the keeper could remove it.
type Leftover struct {
	Dir   string
	Owner int // the process that made it
	Since time.Time
}

// Leftovers finds them. A folder is spared if a process has its owner's number.
func Leftovers() ([]Leftover, error) {
	tmp := os.TempDir()
	entries, err := os.ReadDir(tmp)
	if err != nil {
		return nil, fmt.Errorf("look for leftovers: %w", err)
	}
	var all []Leftover
	for _, e := range entries {
		m := ownedFolder.FindStringSubmatch(e.Name())
		if m == nil || !e.IsDir() { // nor is a link a folder of ours, wherever it points
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

// Remove removes the folder and what is in it.
func (l Leftover) Remove() error { return os.RemoveAll(l.Dir) }

// Gone reports whether there is no process with a number.
func Gone(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}
