package projection

import "time"

// View is one way to look at a hold.
type View struct {
	Property string
	Lapses   bool // an end may be moved on after another's grant
	// end returns when the hold ended in this view; ok is false if that is unknown.
	End func(*Hold) (end time.Duration, ok bool)
}

// Lived cuts a hold where its client gave it up.
func Lived() View {
	return View{Property: "mutual-exclusion", End: func(h *Hold) (time.Duration, bool) { return h.End, true }}
}

// Promised cuts a hold where its promise ends as well.
func Promised() View {
	return View{Property: "lease-exclusion", Lapses: true, End: func(h *Hold) (time.Duration, bool) { return min(h.End, h.Until), h.Promised }}
}
