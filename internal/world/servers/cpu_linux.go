package servers

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of /proc/<pid>/stat, whatever the kernel's own is.
const clockTick = 10 * time.Millisecond

// processorTime is what processes and all that descend from them have taken so far.
func processorTime(roots []int) (time.Duration, error) {
	all, err := processes()
	if err != nil {
		return 0, err
	}
	children := map[int][]int{}
	for pid, p := range all {
		children[p.parent] = append(children[p.parent], pid)
	}
	var sum time.Duration
	for todo := roots; len(todo) > 0; todo = todo[1:] {
		sum += all[todo[0]].took
		todo = append(todo, children[todo[0]]...)
	}
	return sum, nil
}

type process struct {
	parent int
	took   time.Duration // with that of its children that ended
}

func processes() (map[int]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	all := map[int]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it ended meanwhile
		}
		_, after, _ := strings.Cut(string(text), ") ") // the name before it may have anything in it
		fields := strings.Fields(after)
		if len(fields) < 15 {
			continue
		}
		var p process
		p.parent, _ = strconv.Atoi(fields[1])
		for _, field := range fields[11:15] { // utime, stime, cutime, cstime
			ticks, _ := strconv.ParseInt(field, 10, 64)
			p.took += time.Duration(ticks) * clockTick
		}
		all[pid] = p
	}
	return all, nil
}
