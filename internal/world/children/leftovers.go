package children

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

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

// Gone tells whether there is no process with a number.
func Gone(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}
