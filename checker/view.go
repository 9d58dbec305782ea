package checker

import "time"

// View is one way to look at a hold.
type view struct {
	property string
	lapses   bool // an end may be moved on after another's grant
	// end returns when the hold ended in this view; ok is false if that is unknown.
	end func(*hold) (end time.Duration, ok bool)
}

// Lived cuts a hold where its client gave it up.
func lived() view {
	return view{property: "mutual-exclusion", end: func(h *hold) (time.Duration, bool) { return h.end, true }}
}

// Promised cuts a hold where its promise ends as well.
func promised() view {
	return view{property: "lease-exclusion", lapses: true, end: func(h *hold) (time.Duration, bool) { return min(h.end, h.until), h.promised }}
}
