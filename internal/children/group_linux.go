package children

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// inOwnGroup keeps Ctrl-C at the terminal from the children, which must outlive it until the run has been
// judged. They die with the thread that started them.
func inOwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// threadStates has one letter for each thread of each process of a group that has not ended: R, S, D, T, ...
func threadStates(group int) (string, error) {
	processes, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return "", err
	}
	if len(processes) == 0 {
		return "", fmt.Errorf("/proc shows no process")
	}
	var states strings.Builder
	for _, path := range processes {
		if state, of := readStat(path); of != group || !lives(state) {
			continue
		}
		threads, err := filepath.Glob(filepath.Dir(path) + "/task/[0-9]*/stat")
		if err != nil {
			return "", err
		}
		for _, path := range threads {
			if state, _ := readStat(path); lives(state) {
				states.WriteByte(state)
			}
		}
	}
	return states.String(), nil
}

// lives is false of a zombie, of the dead, and of what was gone when it was looked at.
func lives(state byte) bool { return state != 0 && state != 'Z' && state != 'X' }

// readStat reads "number (name) state parent group ..."; the name may have anything in it.
func readStat(path string) (state byte, group int) {
	text, err := os.ReadFile(path)
	if err != nil { // it has ended meanwhile
		return 0, 0
	}
	rest := text[strings.LastIndexByte(string(text), ')')+1:]
	var parent int
	if n, _ := fmt.Sscanf(string(rest), " %c %d %d", &state, &parent, &group); n != 3 {
		return 0, 0
	}
	return state, group
}
