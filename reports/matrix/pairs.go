package matrix

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/reports/format"
)

// pair is a version with a known defect, and the version that fixed it.
type pair struct {
	Bad   *Result
	Fixed *Result // nil: not measured
}

// Undetected returns the bad versions among results whose defect was not detected, although a property covers it.
func Undetected(all []*Result) []*Result {
	var missed []*Result
	for _, p := range pairs(all) {
		if !p.Detected() && p.Bad.NotRun == "" && p.Bad.Defect.Question != "none" {
			missed = append(missed, p.Bad)
		}
	}
	return missed
}

func pairs(all []*Result) []pair {
	var found []pair
	for _, bad := range all {
		if bad.Kind != "bad" || bad.Defect == nil {
			continue
		}
		p := pair{Bad: bad}
		if i := slices.IndexFunc(all, func(r *Result) bool {
			return r.Library == bad.Library && r.Version == bad.Defect.Fixed && r.Setting == bad.Setting
		}); i >= 0 {
			p.Fixed = all[i]
		}
		found = append(found, p)
	}
	return found
}

// Versions names the bad version and the one that fixed it.
func (p pair) Versions() string {
	if p.Bad.Defect.Fixed == "" {
		return p.Bad.Version + ", not fixed"
	}
	return p.Bad.Version + " → " + p.Bad.Defect.Fixed
}

// Violated returns the properties that a step found violated in the bad version, without those that the fixed version violates
// too: they do not show this defect.
func (p pair) Violated(s Step) []string {
	var also []string
	if p.Fixed != nil {
		also = p.Fixed.Failed()
	}
	return slices.DeleteFunc(slices.Clone(s.Violated), func(property string) bool { return slices.Contains(also, property) })
}

// Step returns the first step that detected the defect, or nil.
func (p pair) Step() *Step {
	for i, s := range p.Bad.Steps {
		if len(p.Violated(s)) > 0 {
			return &p.Bad.Steps[i]
		}
	}
	return nil
}

// Detected reports whether a step detected the defect.
func (p pair) Detected() bool { return p.Step() != nil }

// Properties returns the properties that show the defect.
func (p pair) Properties() []string {
	if s := p.Step(); s != nil {
		return p.Violated(*s)
	}
	return nil
}

// Within returns the time from the start of the first step to the end of the one that detected the defect.
func (p pair) Within() string {
	seconds := 0.0
	for _, s := range p.Bad.Steps {
		seconds += s.Seconds
		if len(p.Violated(s)) > 0 {
			return fmt.Sprintf("%.0f s", seconds)
		}
	}
	return format.None
}

// Command returns the command that shows the defect: the one for a counterexample, or that of the step.
func (p pair) Command() string {
	for _, c := range p.Bad.Counterexamples {
		if slices.Contains(p.Properties(), c.Property) {
			return c.Command
		}
	}
	if s := p.Step(); s != nil {
		return s.Command
	}
	return ""
}

// Clean describes what the fixed version did.
func (p pair) Clean() string {
	switch {
	case p.Bad.Defect.Fixed == "":
		return format.None
	case p.Fixed == nil || p.Fixed.NotRun != "":
		return "not run"
	case len(p.Fixed.Failed()) > 0:
		return "violates " + format.Joined(p.Fixed.Failed())
	}
	if _, asked := p.Fixed.Tally(); asked == 0 {
		return "not asked"
	}
	return "clean"
}

// trackRecord returns the track record as Markdown: a row for each known defect.
func (v view) trackRecord() []byte {
	var b strings.Builder
	caught := 0
	for _, p := range v.Pairs {
		if p.Detected() {
			caught++
		}
	}
	fmt.Fprintf(&b, `# Track record

Published defects of lock libraries, and what lockbench finds in the version with the defect and in the one without it. This page is
generated: `+"`lockbench matrix --versions bad`"+` measures it again. %d of %d defects were detected.

- *Scenes* are the default workloads and faults of `+"`lockbench verify`"+`, *search* is `+"`lockbench explore`"+`, and *known* is a scene or a case
  that was chosen by hand for this defect.
- A defect counts as detected if the bad version violates a property that the fixed version does not violate.
- *Within* is the time from the first trial to the end of the step that detected a violation.
- The command shows the violation with the bad version. With the number of the fixed version it shows none.
- Defects that lockbench itself found, also in current releases, are in `+"`docs/reference/defects.md`"+`, each with a command and the
  documentation that it contradicts.

| library | defect | bad → fixed | detected by | violates | within | fixed version |
|---|---|---|---|---|--:|---|
`, caught, len(v.Pairs))
	for _, p := range v.Pairs {
		violated, found := format.None, "not detected"
		if s := p.Step(); s != nil {
			violated, found = format.Joined(p.Properties()), s.Name
		}
		b.WriteString(format.TableLine([]string{p.Bad.Library, p.Bad.Defect.Summary, p.Versions(), found, violated, p.Within(), p.Clean()}) + "\n")
	}
	b.WriteString("\n## Commands\n\n")
	for _, p := range v.Pairs {
		if command := p.Command(); command != "" {
			fmt.Fprintf(&b, "- %s %s: `%s`\n", p.Bad.Library, p.Bad.Version, command)
		}
	}
	return []byte(b.String())
}
