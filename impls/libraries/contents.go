package libraries

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
)

// Contents returns the packages in the folder of an installation, as name:version in sorted order. The description of a library
// fixes the versions of those that it names. The others are those that the registry chose on the day of the installation.
func (c Choice) Contents(folder string) ([]string, error) {
	all, err := registries[c.Library.Registry].contents(folder)
	slices.Sort(all)
	return slices.Compact(all), err
}

// named returns the packages whose names and versions the two groups of a pattern find.
func named(pattern *regexp.Regexp, text string) []string {
	var all []string
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1]+":"+m[2])
	}
	return all
}

// files returns a function that finds packages in the names of files.
func files(glob string, pattern *regexp.Regexp) func(string) ([]string, error) {
	return func(folder string) ([]string, error) {
		found, err := filepath.Glob(filepath.Join(folder, glob))
		var all []string
		for _, file := range found {
			all = append(all, named(pattern, filepath.Base(file))...)
		}
		return all, err
	}
}

var (
	jars  = regexp.MustCompile(`^(.+?)-([0-9].*)\.jar$`)
	dists = regexp.MustCompile(`^(.+?)-([0-9].*)\.dist-info$`)
	crate = regexp.MustCompile(`(?m)^name = "(.+)"\nversion = "(.+)"\nsource`) // without a source it is the adapter or its library
)

func crates(folder string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, "Cargo.lock"))
	return named(crate, string(text)), err
}

func goModules(folder string) ([]string, error) {
	info, err := buildinfo.ReadFile(filepath.Join(folder, "worker"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, m := range info.Deps {
		if m.Replace == nil { // the library for workers is replaced
			all = append(all, m.Path+":"+m.Version)
		}
	}
	return all, nil
}

func nodeModules(folder string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, "node_modules", ".package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	var all []string
	for at, p := range lock.Packages {
		name := path.Base(at)
		if scope := path.Base(path.Dir(at)); scope[0] == '@' {
			name = scope + "/" + name
		}
		all = append(all, name+":"+p.Version)
	}
	return all, nil
}
