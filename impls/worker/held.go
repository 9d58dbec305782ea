package worker

// held is what a worker keeps of its outermost holds, by the ids of their acquires: to tell their losses, and
// whose a renewal is.
type held struct {
	over  map[int64]chan struct{} // closed when nobody waits for its loss any more
	named map[string]int64        // the latest of each name
	ended []string                // names of those that were given back, the oldest first
}

// remembered is how many holds that were given back are kept: one that is renewed after its release is what
// somebody wants to know.
const remembered = 1 << 14

func newHeld() held {
	return held{over: map[int64]chan struct{}{}, named: map[string]int64{}}
}

// name tells the holds of a process apart.
func name(key, token string) string { return key + "\x00" + token }

// begin returns what is closed when the hold ends.
func (h *held) begin(id int64, name string) <-chan struct{} {
	over := make(chan struct{})
	h.over[id] = over
	h.named[name] = id
	return over
}

// end is for a hold that is about to be given back; what is no outermost hold is left alone.
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
