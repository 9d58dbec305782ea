package worker

// held is what a worker keeps of its outermost holds, by the ids of their acquires: to tell their losses, and
// whose a renewal is.
type held struct {
	over  map[int64]chan struct{} // closed when nobody waits for its loss any more
	named map[string]int64        // the latest of each name
	ended []string                // names of those that were given back, the oldest first
	early map[string][]Line       // renewals, by name, made before the grant was answered
}

// remembered is how many released holds are kept: a renewal after the release is reported.
const remembered = 1 << 14

func newHeld() held {
	return held{over: map[int64]chan struct{}{}, named: map[string]int64{}, early: map[string][]Line{}}
}

// name tells the holds of a process apart.
func name(key, token string) string { return key + "\x00" + token }

// mostEarly bounds the renewals that are kept for holds that may never be answered.
const mostEarly = 1000

// renewed returns whose a renewal is; 0: that is not known yet, and it is kept.
func (h *held) renewed(name string, l Line) int64 {
	id := h.named[name]
	if id == 0 && len(h.early) < mostEarly {
		h.early[name] = append(h.early[name], l)
	}
	return id
}

// begin returns what is closed when the hold ends, and its renewals so far.
func (h *held) begin(id int64, name string) (over chan struct{}, early []Line) {
	over, early = make(chan struct{}), h.early[name]
	delete(h.early, name)
	h.over[id], h.named[name] = over, id
	for i := range early {
		early[i].Renewed = id
	}
	return over, early
}

// end is for a hold that is about to be released; an inner one is left alone.
func (h *held) end(id int64, name string) {
	over := h.over[id]
	if over == nil {
		return
	}
	close(over)
	delete(h.over, id)
	h.ended = append(h.ended, name)
	if len(h.ended) > remembered {
		if oldest := h.ended[0]; h.over[h.named[oldest]] == nil { // else it was granted again under that name
			delete(h.named, oldest)
		}
		h.ended = h.ended[1:]
	}
}
