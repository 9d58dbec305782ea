package judge

// answerMutants are mutants of the rules about late grants.
var answerMutants = []mutant{
	{"expiredgrant.go", "f.Header.ChecksLease && !f.Header.WaitsInside && ok && op.Return >= until && !paused", "!f.Header.WaitsInside && ok && op.Return >= until && !paused"},
	{"expiredgrant.go", "f.Header.ChecksLease && !f.Header.WaitsInside && ok && op.Return >= until && !paused", "f.Header.ChecksLease && ok && op.Return >= until && !paused"},
	{"expiredgrant.go", "f.Header.ChecksLease && !f.Header.WaitsInside && ok && op.Return >= until && !paused", "f.Header.ChecksLease && !f.Header.WaitsInside && ok && op.Return > until && !paused"},
	{"expiredgrant.go", "f.Header.ChecksLease && !f.Header.WaitsInside && ok && op.Return >= until && !paused", "f.Header.ChecksLease && !f.Header.WaitsInside && ok && op.Return >= until"},
	{"expiredgrant.go", "f.pauseEnd(op.Client, op.Call) > op.Call", "f.pauseEnd(op.Client, 0) > 0"},
	{"expiredgrant.go", "f.pauseEnd(op.Client, op.Call) > op.Call", "f.faultEnd(op.Client, op.Call) > op.Call"},
	{"expiredgrant.go", "g.by >= 2*max(f.Stall, f.SlowestRead)", "true"},
	{"expiredgrant.go", "g.by >= 2*max(f.Stall, f.SlowestRead)", "g.by >= 2*f.Stall"},
	{"expiredgrant.go", "g.by >= 2*max(f.Stall, f.SlowestRead)", "g.by >= 2*f.SlowestRead"},
}
