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

// Found returns the name of the first step that detected a violation in the bad version, or "".
func (p pair) Found() string {
	for _, s := range p.Bad.Steps {
		if len(s.Violated) > 0 {
			return s.Name
		}
	}
	return ""
}

// Step returns the step that detected the violation, or nil.
func (p pair) Step() *Step { return p.Bad.Step(p.Found()) }

// Within returns the time from the start of the first step to the end of the one that detected a violation.
func (p pair) Within() string {
	seconds := 0.0
	for _, s := range p.Bad.Steps {
		seconds += s.Seconds
		if len(s.Violated) > 0 {
			return fmt.Sprintf("%.0f s", seconds)
		}
	}
	return format.None
}

// Command returns the command that shows the violation. A counterexample is the shortest.
func (p pair) Command() string {
	for _, c := range p.Bad.Counterexamples {
		return c.Command
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
	return "clean"
}

// trackRecord returns the track record as Markdown: a row for each known defect.
func (v view) trackRecord() []byte {
	var b strings.Builder
	caught := 0
	for _, p := range v.Pairs {
		if p.Found() != "" {
			caught++
		}
	}
	fmt.Fprintf(&b, `# Track record

Published defects of lock libraries, and what lockbench finds in the version with the defect and in the one without it. This page is
generated: `+"`lockbench matrix --versions bad`"+` measures it again. %d of %d defects were detected.

- *Scenes* are the default workloads and faults of `+"`lockbench verify`"+`, *search* is `+"`lockbench explore`"+`, and *known* is a scene or a case
  that was chosen by hand for this defect, which runs only if the others found nothing.
- *Within* is the time from the first trial to the end of the step that detected a violation.
- The command shows the violation with the bad version. With the number of the fixed version it shows none.

| library | defect | bad → fixed | detected by | violates | within | fixed version |
|---|---|---|---|---|--:|---|
`, caught, len(v.Pairs))
	for _, p := range v.Pairs {
		violated := format.None
		if s := p.Step(); s != nil {
			violated = format.Joined(s.Violated)
		}
		found := p.Found()
		if found == "" {
			found = "not detected"
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
