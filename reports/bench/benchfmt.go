package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"

	"lockbench/reports/format"
)

// WriteBenchfmt writes one line for each trial, in the format of benchstat. To compare two runs, call benchstat with
// -col run. To compare two locks of one run, call benchstat with -col /lock. Locks that violated exclusion are left
// out.
func (c *Comparisons) WriteBenchfmt(w io.Writer, metrics []Metric) error {
	var text bytes.Buffer
	var err error
	out := benchfmt.NewWriter(&text)
	comment := func(about string, args ...any) { fmt.Fprintln(&text, "# "+format.Clean(fmt.Sprintf(about, args...))) }
	for _, why := range c.Withheld {
		comment("withheld: %s", why)
	}
	for _, m := range metrics {
		if unit, ok := unitMetadata(m); ok {
			err = errors.Join(err, out.Write(unit))
		}
	}
	for i, side := range []Side{c.Base, c.New} {
		name := []string{"base", "new"}[i]
		if c.Base.Run == c.New.Run { // both sides are from the same run, so benchstat compares two locks
			name = "run"
		}
		comment("%s: suite %s, seed %d, begun %s", name, side.Name, side.Seed, side.Run.Plan.Started.Format(time.RFC3339))
		var rows []*Row
		for _, compared := range c.Rows {
			rows = appendUnique(rows, []*Row{compared.baseRow, compared.newRow}[i])
		}
		for _, row := range rows {
			if row.Unsafe != nil {
				comment("left out: %s at %s, violated: %s", row.Subject, row.Point, row.Unsafe.Property)
				continue
			}
			for _, t := range row.counted {
				if line := side.benchLine(name, row, t, metrics); len(line.Values) > 0 {
					err = errors.Join(err, out.Write(line))
				}
			}
		}
	}
	_, werr := text.WriteTo(w)
	return errors.Join(err, werr)
}

func (s Side) benchLine(run string, row *Row, t *Trial, metrics []Metric) *benchfmt.Result {
	e := s.Run.Plan.Environment
	line := &benchfmt.Result{Name: benchfmt.Name(benchName(row.Subject, *row.point)), Iters: 1}
	for _, c := range [][2]string{{"run", run}, {"goos", e.OS}, {"goarch", e.Arch}, {"cpu", e.CPU}} {
		if c[1] != "" {
			line.Config = append(line.Config, benchfmt.Config{Key: c[0], Value: []byte(format.Clean(c[1])), File: true})
		}
	}
	for _, m := range metrics {
		if v, ok := t.Figures[m.Name]; ok && !row.selective(m.Name) {
			unit, factor := benchUnit(m)
			line.Values = append(line.Values, benchfmt.Value{Value: v * factor, Unit: unit})
		}
	}
	return line
}

// benchName returns the benchmark name without the prefix Benchmark. The name ends with the hold time and its unit. A
// name that ends with a hyphen and a number would be misread: benchstat takes the number for GOMAXPROCS.
func benchName(subject string, p Point) string {
	parts := []string{
		"Lock", "point=" + p.ID, "lock=" + subject,
		fmt.Sprintf("clients=%d", p.Clients), fmt.Sprintf("keys=%d", p.Keys), fmt.Sprintf("hold=%v", time.Duration(p.HoldNS)),
	}
	for i, part := range parts {
		parts[i] = strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || unicode.IsControl(r) || r == '/' {
				return '_'
			}
			return r
		}, part)
	}
	return strings.Join(parts, "/")
}

// benchUnit returns the unit of a metric. Units are unique, because benchstat makes a table for each unit. Times are in
// seconds.
func benchUnit(m Metric) (unit string, factor float64) {
	switch {
	case m.Name == "goodput":
		return "sections/s", 1
	case m.Unit == "ms":
		return m.Name + "-sec", 1e-3
	case m.Unit == "us":
		return m.Name + "-sec", 1e-6
	case m.Unit == "":
		return m.Name, 1
	case strings.HasPrefix(m.Unit, "/"):
		return m.Name + m.Unit, 1
	}
	return m.Name + "-" + m.Unit, 1
}

func unitMetadata(m Metric) (*benchfmt.UnitMetadata, bool) {
	if m.Better == 0 {
		return nil, false
	}
	unit, _ := benchUnit(m)
	_, tidied := benchunit.Tidy(1, unit)
	better := "higher"
	if m.Better < 0 {
		better = "lower"
	}
	return &benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: tidied, Key: "better"}, OrigUnit: unit, Value: better}, true
}
