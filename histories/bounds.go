package histories

import (
	"os"
	"time"
)

// boundEvery is the number of operations between two bounds.
const boundEvery = 4096

// bounds are times that limit the memory of Replay in a history without marks. The ith bound follows the first (i+1)*boundEvery
// operations: no later operation was called before it. How much a bound helps depends on the order of the lines. If they are ordered
// by their calls or returns, Replay keeps the operations of a moment in memory. If they are ordered by client, it keeps all.
type bounds struct {
	times []time.Duration
	since int // number of operations that were read since the last bound
}

// boundsOf reads a history and returns its bounds. It returns nil for anything but a regular file, which could not be read again.
// It ignores errors, because the reader that gets the bounds finds them too.
func boundsOf(path string) *bounds {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	r, err := open(path)
	if err != nil {
		return nil
	}
	defer r.Close()
	var first []time.Duration // earliest call among boundEvery operations
	for n := 0; ; n++ {
		line, err := r.Next()
		if err != nil {
			break
		}
		if n%boundEvery == 0 {
			first = append(first, line.Op.Call)
		}
		last := &first[len(first)-1]
		*last = min(*last, line.Op.Call)
	}
	for i := len(first) - 2; i >= 0; i-- {
		first[i] = min(first[i], first[i+1])
	}
	if len(first) < 2 {
		return nil
	}
	return &bounds{times: first[1:]}
}

// next counts an operation. Before the operation, it returns a bound if one is due.
func (b *bounds) next() (at time.Duration, due bool) {
	if b == nil || len(b.times) == 0 {
		return 0, false
	}
	if b.since < boundEvery {
		b.since++
		return 0, false
	}
	b.since, at, b.times = 0, b.times[0], b.times[1:]
	return at, true
}
