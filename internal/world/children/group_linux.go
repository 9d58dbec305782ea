package children

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// inOwnGroup keeps Ctrl-C at the terminal from the children, which must outlive it until the run has been
// judged. They die with the thread that started them.
func inOwnGroup(asked *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if asked != nil {
		attr.Credential = asked.Credential
	}
	return attr
}

// process is what /proc says of one.
type process struct {
	pid, parent, group int
	state              byte
}

// familyOf are the processes of a leader's group that have not ended, and what descends from the leader: a server may
// give each of its processes a group of its own.
func familyOf(leader int) ([]process, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("/proc shows no process")
	}
	all := map[int]process{}
	for _, path := range files {
		if p := readStat(path); lives(p.state) {
			all[p.pid] = p
		}
	}
	var members []process
	for _, p := range all {
		if p.group == leader || descends(all, p, leader) {
			members = append(members, p)
		}
	}
	return members, nil
}

// descends tells whether a process has another for an ancestor. What is read one after the other may contradict
// itself, so that it goes up a bounded number of times.
func descends(all map[int]process, p process, from int) bool {
	for range len(all) {
		if p.pid == from {
			return true
		}
		p = all[p.parent]
	}
	return false
}

// besides are the groups that a leader's descendants have made for themselves.
func besides(leader int) []int {
	members, err := familyOf(leader)
	if err != nil {
		return nil
	}
	var groups []int
	for _, p := range members {
		if p.group != leader && p.group != syscall.Getpgrp() && p.group > 1 && !slices.Contains(groups, p.group) {
			groups = append(groups, p.group)
		}
	}
	return groups
}

// threadStates has one letter for each thread of each process of a leader's family: R, S, D, T, ...
func threadStates(leader int) (string, error) {
	members, err := familyOf(leader)
	if err != nil {
		return "", err
	}
	var states strings.Builder
	for _, p := range members {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*/stat", p.pid))
		if err != nil {
			return "", err
		}
		for _, path := range threads {
			if state := readStat(path).state; lives(state) {
				states.WriteByte(state)
			}
		}
	}
	return states.String(), nil
}

// lives is false of a zombie, of the dead, and of what was gone when it was looked at.
func lives(state byte) bool { return state != 0 && state != 'Z' && state != 'X' }

// readStat reads "number (name) state parent group ..."; the name may have anything in it.
func readStat(path string) (p process) {
	text, err := os.ReadFile(path)
	if err != nil { // it has ended meanwhile
		return process{}
	}
	head, _, _ := strings.Cut(string(text), " ")
	rest := text[strings.LastIndexByte(string(text), ')')+1:]
	if n, _ := fmt.Sscanf(head+string(rest), "%d %c %d %d", &p.pid, &p.state, &p.parent, &p.group); n != 4 {
		return process{}
	}
	return p
}
