package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Build makes all that is shown of a bench anew from its folder: results.json, the page and report.md.
func Build(dir string) (*Results, error) {
	r, err := Read(dir)
	if err != nil {
		return nil, err
	}
	page, err := Page(r)
	if err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	text, err := Markdown(r)
	if err != nil {
		return nil, fmt.Errorf("report.md: %w", err)
	}
	report := filepath.Join(dir, "report")
	if err := os.MkdirAll(report, 0o755); err != nil {
		return nil, err
	}
	return r, errors.Join(WriteResults(dir, r), os.WriteFile(filepath.Join(report, "index.html"), page, 0o644),
		os.WriteFile(filepath.Join(report, "report.md"), text, 0o644))
}
