package run

import (
	"fmt"
	"os"
	"path/filepath"

	"lockbench/checker/oracle"
)

// addViewer has Porcupine draw a witness, as the nth of the page, where it has a model of the property.
func (w *witness) addViewer(n int) error {
	page, ok, err := oracle.Viewer(w.Observed.Property, w.Observed.shown, w.Observed.slack)
	if ok {
		w.Viewer, w.viewer = fmt.Sprintf("witness-%03d.html", n), page
	}
	return err
}

// writeViewers writes Porcupine's pages beside the report, and removes those of a report that was there before.
func writeViewers(dir string, witnesses []witness) error {
	old, err := filepath.Glob(filepath.Join(dir, "witness-*.html"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	for _, w := range witnesses {
		if w.Viewer == "" {
			continue
		}
		if err := WriteFile(filepath.Join(dir, w.Viewer), w.viewer); err != nil {
			return err
		}
	}
	return nil
}
