package choice

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"lockbench/internal/cli/console"
	"lockbench/reports/bench"
	"lockbench/reports/run"
	"lockbench/reports/selection"
)

// kinds lists the kinds of result folders. The field file is the name of a file that only this kind of folder contains. The
// field name describes the folder. The field verb is the format string of a hint that suggests a command for the folder.
var kinds = []struct{ file, name, verb string }{
	{run.ManifestName, "a run folder", "lockbench report %s shows a run"},
	{bench.PlanName, "a bench folder", "lockbench report %s shows a bench"},
	{"explored.json", "the folder of an exploration", "lockbench replay runs a counterexample again: %s/*.json"},
	{selection.DataName, "the folder of a selection report", "lockbench verify-report %s/" + selection.DataName + " verifies it"},
}

// Misplaced returns a usage error for a path that a command cannot read. The parameter want describes the folder or
// file that the command can read. If lockbench wrote the folder, the error also states the kind of the folder, and the
// hint suggests a command for it.
func Misplaced(path, want string, err error, hint string) error {
	info, missing := os.Stat(path)
	if errors.Is(missing, fs.ErrNotExist) {
		return console.Usage(fmt.Errorf("%s: there is no such file or folder; want %s", path, want), hint)
	}
	for _, k := range kinds {
		if _, absent := os.Stat(filepath.Join(path, k.file)); absent == nil {
			return console.Usage(fmt.Errorf("%s is %s; want %s", path, k.name, want), fmt.Sprintf(k.verb, path))
		}
	}
	if missing == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder that lockbench did not write; want %s", path, want)
		for _, k := range kinds {
			if inside, _ := filepath.Glob(filepath.Join(path, "*", k.file)); len(inside) > 0 {
				err, hint = fmt.Errorf("%s is a folder of results; want %s", path, want), "lockbench serve "+path+" shows what is in it"
			}
		}
	}
	return console.Usage(cmp.Or(err, fmt.Errorf("%s is a file; want %s", path, want)), hint)
}
