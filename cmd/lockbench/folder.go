package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// makeFolder makes the folder for results: the one that was asked for, which must be empty, or a new one in runs/, named
// after the time and what was done.
func makeFolder(out string, now time.Time, name string) (dir string, err error) {
	const elsewhere = "choose another folder with --out"
	if out == "" {
		if dir, err = newFolder(now.Format("20060102-150405") + "-" + name); err != nil {
			return "", environment(err, elsewhere)
		}
		return dir, nil
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return "", usage(fmt.Errorf("the folder %s is not empty", out), "a run never writes over another: choose a new folder with --out")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", environment(err, elsewhere)
	}
	return out, nil
}

// newFolder makes a folder in runs/ that nobody else has, not even a run that begins at the same moment.
func newFolder(name string) (dir string, err error) {
	if err := os.MkdirAll("runs", 0o755); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		dir = filepath.Join("runs", name)
		if n > 1 {
			dir += fmt.Sprintf("-%d", n)
		}
		if err := os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}
