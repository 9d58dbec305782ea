package bench

import "lockbench/reports/format"

// heading is a metric's title with its unit.
func heading(m Metric) string {
	switch m.Unit {
	case "":
		return m.Title
	case "us":
		return m.Title + ", µs"
	case "/s":
		return m.Title + " /s"
	}
	return m.Title + ", " + m.Unit
}

// metricText writes a metric's value without its unit.
func metricText(m Metric, v float64) string {
	if m.Name == "starved" || m.Name == "bypassed" { // clients and grants are whole ones
		return format.TrimZeros(format.Significant(v))
	}
	return format.Significant(v)
}
