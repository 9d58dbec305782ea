package console

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const elsewhere = "choose another folder with --out"

// Folder makes the folder for results: out, which must be empty, or a new one in runs/, named after the time and what was
// done. For a new one runs/<latest> becomes a link to it, unless latest is "".
func Folder(out, name, latest string) (string, error) {
	if out == "" {
		dir, err := newFolder(time.Now().Format("20060102-150405") + "-" + name)
		if err != nil {
			return "", Environment(err, elsewhere)
		}
		if latest != "" { // a convenience: nothing is lost if it cannot be made
			link := filepath.Join("runs", latest)
			os.Remove(link)
			os.Symlink(filepath.Base(dir), link)
		}
		return dir, nil
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return "", Usage(fmt.Errorf("the folder %s is not empty", out), "a run never writes over another: choose a new folder with --out")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", Environment(err, elsewhere)
	}
	return out, nil
}

// newFolder makes a folder in runs/ that no other process uses, not even one that begins at the same moment.
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
