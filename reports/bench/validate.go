package bench

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// validate refuses a plan that names what is not there, or what cannot be a folder.
func (p *Plan) validate() error {
	if p.Version < 1 || p.Version > Version {
		return fmt.Errorf("version %d, want 1 to %d", p.Version, Version)
	}
	subjects := map[string]bool{}
	for _, s := range p.Subjects {
		if err := folderName("subject", s.Name, subjects); err != nil {
			return err
		}
		if !s.Role.known() {
			return fmt.Errorf("subject %s: unknown role %q", s.Name, s.Role)
		}
	}
	points := map[string]bool{}
	for _, pt := range p.Points {
		if err := folderName("point", pt.ID, points); err != nil {
			return err
		}
	}
	seen := map[Pair]bool{}
	for _, pair := range p.Pairs {
		if pair.Subject < 0 || pair.Subject >= len(p.Subjects) || pair.Point < 0 || pair.Point >= len(p.Points) {
			return fmt.Errorf("pair {subject %d, point %d}: there are %d subjects and %d points", pair.Subject, pair.Point, len(p.Subjects), len(p.Points))
		}
		if seen[pair] {
			return fmt.Errorf("pair {subject %d, point %d} is there twice", pair.Subject, pair.Point)
		}
		seen[pair] = true
	}
	return nil
}

func (r Role) known() bool {
	switch r {
	case Lock, Control, Floor, Again, Delayed, Stalled:
		return true
	}
	return false
}

// folderName refuses a name that was given before, or that would lead out of the bench folder.
func folderName(what, name string, seen map[string]bool) error {
	if name == "." || strings.ContainsAny(name, `/\`) || !filepath.IsLocal(name) {
		return fmt.Errorf("%s %q: the name is no folder's", what, name)
	}
	if seen[name] {
		return fmt.Errorf("%s %s is there twice", what, name)
	}
	seen[name] = true
	return nil
}

func (t *Trial) validate() error {
	switch {
	case t.Version < 1 || t.Version > Version:
		return fmt.Errorf("version %d, want 1 to %d", t.Version, Version)
	case !localDir(t.Dir):
		return fmt.Errorf("dir %q: want <point>/<subject>/<block>", t.Dir)
	case t.Dir != path.Join(t.Point, t.Subject, path.Base(t.Dir)):
		return fmt.Errorf("dir %s: it is not that of %s at %s", t.Dir, t.Subject, t.Point)
	case t.Block < 0 || t.Order < 0:
		return errors.New("block and order begin at 0")
	}
	for name := range t.Figures {
		if _, ok := FindMetric(name); !ok {
			return fmt.Errorf("figure %q: this lockbench knows no such metric", name)
		}
	}
	if t.Judged != nil && t.Judged.History != "" && !localDir(t.Judged.History) {
		return fmt.Errorf("history %q: it leads out of the folder", t.Judged.History)
	}
	return nil
}

// localDir tells whether a path with slashes stays in its folder, and is written as it would be cleaned.
func localDir(dir string) bool {
	return dir == path.Clean(dir) && !strings.Contains(dir, `\`) && filepath.IsLocal(filepath.FromSlash(dir))
}
