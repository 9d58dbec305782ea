// Package libraries describes third-party lock libraries and installs them. Each folder <language>/<library> has a
// library.yaml, which names the package, the versions to test and their known defects, and an adapter, with which the
// library becomes a worker (docs/reference/worker-protocol.md). All returns the descriptions, Find selects one version of one
// library, and Install downloads it and builds its adapter.
package libraries

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"lockbench/impls/worker"
)

//go:embed go/*/* java/*/* node/*/* python/*/* rust/*/*
var sources embed.FS

// States of a version.
const (
	Bad     = "bad"     // the version has a known defect
	Fixed   = "fixed"   // the first version without this defect that can be installed
	Current = "current" // the newest release when the description was written
)

// Library is the content of a library.yaml.
type Library struct {
	Name     string // unique over all languages
	Language string
	Registry string // "maven", "go", "crates", "pypi" or "npm"
	Package  string
	With     []string // packages that every version needs in addition to the library, as name:version; of a crate also name/feature:version
	Store    string
	Start    string // command of the worker; {folder} is the folder that Install returns
	Settings []Setting
	Versions []Version
}

// Setting is a way to use a library. The first setting of a library is its default.
type Setting struct {
	Name     string // name of the lock, as its worker states it
	Argument string // command-line argument of the adapter; may be empty
	About    string
}

// Version is a version of a library to test.
type Version struct {
	Version   string
	State     string   // Bad, Fixed or Current
	Setting   string   // setting in which the defect shows; "": the default
	With      []string // packages that only this version needs in addition to the library, as name:version
	Defect    string   // defect of this version of the library, with the upstream issue; "": no known defect
	Situation string   // events that make the defect visible
	Question  string   // property that the defect violates; "none": no property covers it
	ShownBy   string   `yaml:"shown_by"` // flags with which lockbench verify detects the defect; may be empty
	Case      string   // name of a file in the same folder with a case (docs/case.schema.json) that shows the defect; may be empty
}

// Choice is one version of a library in one setting.
type Choice struct {
	Library Library
	Version Version
	Setting Setting
	Named   bool // whether the reference names a version
}

// String returns the name with which Find selects the choice, such as redisson-java-lease@3.27.1.
func (c Choice) String() string { return c.Setting.Name + "@" + c.Version.Version }

// Command returns the shell command that starts the worker. folder is the folder that Install returned.
func (c Choice) Command(folder string) string {
	return strings.TrimSpace(strings.ReplaceAll(c.Library.Start, "{folder}", worker.ShellWord(folder)) + " " + c.Setting.Argument)
}

// All returns the descriptions of all libraries, sorted by language and name.
func All() ([]Library, error) {
	files, err := fs.Glob(sources, "*/*/library.yaml")
	if err != nil {
		return nil, err
	}
	var all []Library
	for _, file := range files {
		l, err := read(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		all = append(all, l)
	}
	return all, nil
}

func read(file string) (l Library, err error) {
	text, err := sources.ReadFile(file)
	if err != nil {
		return l, err
	}
	if err := yaml.UnmarshalWithOptions(text, &l, yaml.Strict()); err != nil {
		return l, err
	}
	if len(l.Settings) == 0 {
		l.Settings = []Setting{{Name: l.Name}}
	}
	return l, nil
}

// folder returns the path of the library's folder in the embedded files.
func (l Library) folder() string { return path.Join(l.Language, l.Name) }

// CasePath returns the path of a version's case file, relative to the folder of this package.
func (l Library) CasePath(v Version) string { return path.Join(l.folder(), v.Case) }

// Case returns the case file of a bad version.
func (l Library) Case(v Version) ([]byte, error) { return sources.ReadFile(l.CasePath(v)) }

// Choices returns the settings of a version that are worth testing: all for the latest version, and the one with the defect
// for an older one.
func (l Library) Choices(v Version) []Choice {
	var all []Choice
	for _, s := range l.Settings {
		if v.Version == l.Latest().Version || s.Name == l.SettingOf(v).Name {
			all = append(all, Choice{Library: l, Version: v, Setting: s})
		}
	}
	return all
}

// SettingOf returns the setting in which the defect of a version shows, or the default one.
func (l Library) SettingOf(v Version) Setting {
	for _, s := range l.Settings {
		if s.Name == v.Setting {
			return s
		}
	}
	return l.Settings[0]
}

// FixOf returns the version that fixed the defect of a bad version: the next fixed one in the description.
func (l Library) FixOf(bad Version) (Version, bool) {
	i := slices.IndexFunc(l.Versions, func(v Version) bool { return v.Version == bad.Version })
	for _, v := range l.Versions[i+1:] {
		if v.State == Fixed {
			return v, true
		}
	}
	return Version{}, false
}

// DefectOf returns the bad version whose defect a version has or fixed.
func (l Library) DefectOf(of Version) (Version, bool) {
	for _, bad := range l.Versions {
		if bad.State != Bad {
			continue
		}
		if fixed, ok := l.FixOf(bad); bad.Version == of.Version || ok && fixed.Version == of.Version {
			return bad, true
		}
	}
	return Version{}, false
}

// Defect returns the bad version whose defect a choice has or fixed, if the defect shows in this setting.
func (c Choice) Defect() (Version, bool) {
	bad, ok := c.Library.DefectOf(c.Version)
	return bad, ok && c.Library.SettingOf(bad).Name == c.Setting.Name
}

// UnknownError is the error for a name that is neither that of a library nor that of a setting.
type UnknownError struct {
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown library %q", e.Name)
}

// Find returns the choice that a reference selects: NAME or NAME@VERSION, where NAME is that of a setting or, if no
// setting has it, of a library. Without a version it selects the current one. A version need not be described: any release can be tested.
func Find(reference string) (Choice, error) {
	all, err := All()
	if err != nil {
		return Choice{}, err
	}
	name, version, named := strings.Cut(reference, "@")
	var known []string
	for _, l := range all {
		known = append(known, l.Name)
		v := l.version(version)
		if i := slices.IndexFunc(l.Settings, func(s Setting) bool { return s.Name == name }); i >= 0 {
			return Choice{l, v, l.Settings[i], named}, nil
		}
		if l.Name == name {
			return Choice{l, v, l.SettingOf(v), named}, nil
		}
	}
	return Choice{}, &UnknownError{name, known}
}

// version returns the version with a number, or the latest one if number is empty.
func (l Library) version(number string) Version {
	for _, v := range l.Versions {
		if v.Version == number {
			return v
		}
	}
	if number == "" {
		return l.Latest()
	}
	return Version{Version: number}
}

// Latest returns the current version, or the last one if none is marked as current.
func (l Library) Latest() Version {
	for _, v := range l.Versions {
		if v.State == Current {
			return v
		}
	}
	return l.Versions[len(l.Versions)-1]
}
