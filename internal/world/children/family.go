package children

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// clockTick is the unit of processor times in /proc. It does not depend on the kernel configuration.
const clockTick = 10 * time.Millisecond

// processes returns the entries of /proc by process ID. It skips processes that end in the meantime.
func processes() (map[int]procfs.ProcStat, error) {
	list, err := procfs.AllProcs()
	if err != nil {
		return nil, errors.Join(errors.ErrUnsupported, err)
	}
	all := map[int]procfs.ProcStat{}
	for _, p := range list {
		if stat, err := p.Stat(); err == nil {
			all[p.PID] = stat
		}
	}
	return all, nil
}

// ProcessorTime returns the total processor time used by the processes roots and their descendants. It returns
// errors.ErrUnsupported on systems without /proc.
func ProcessorTime(roots []int) (sum time.Duration, err error) {
	all, err := processes()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		if slices.ContainsFunc(roots, func(root int) bool { return descends(all, p, root) }) {
			sum += time.Duration(int(p.UTime+p.STime)+p.CUTime+p.CSTime) * clockTick
		}
	}
	return sum, nil
}

// familyOf returns the living processes in the process group with the ID leader. It also returns the living descendants
// of the process leader in other groups.
func familyOf(leader int) ([]procfs.ProcStat, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var members []procfs.ProcStat
	for _, p := range all {
		if isAlive(p) && (p.PGRP == leader || descends(all, p, leader)) {
			members = append(members, p)
		}
	}
	return members, nil
}

// descends reports whether the process p or one of its ancestors has the process ID from. The number of steps is
// limited, because an inconsistent process table may contain a cycle.
func descends(all map[int]procfs.ProcStat, p procfs.ProcStat, from int) bool {
	for range len(all) {
		if p.PID == from {
			return true
		}
		p = all[p.PPID]
	}
	return false
}

// otherGroups returns the process groups that the descendants of leader created.
func otherGroups(leader int) []int {
	all, _ := processes()
	var groups []int
	for _, p := range all {
		if isAlive(p) && descends(all, p, leader) && p.PGRP != leader && p.PGRP != all[os.Getpid()].PGRP && p.PGRP > 1 && !slices.Contains(groups, p.PGRP) {
			groups = append(groups, p.PGRP)
		}
	}
	return groups
}

// threadStates returns one state letter (R, S, D, T, ...) per thread, for all processes that familyOf returns.
func threadStates(leader int) (string, error) {
	members, err := familyOf(leader)
	if err != nil {
		return "", err
	}
	var states strings.Builder
	for _, p := range members {
		threads, err := procfs.AllThreads(p.PID)
		if err != nil {
			continue // the process has ended
		}
		for _, t := range threads {
			if stat, err := t.Stat(); err == nil && isAlive(stat) {
				states.WriteString(stat.State)
			}
		}
	}
	return states.String(), nil
}

func isAlive(p procfs.ProcStat) bool { return p.State != "Z" && p.State != "X" }
