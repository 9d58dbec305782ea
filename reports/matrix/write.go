package matrix

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"lockbench/reports/format"
	"lockbench/reports/run"
)

// TrackRecord is the name of the file with the track record, in the folder of all results.
const TrackRecord = "track-record.md"

// Write writes the pages, the badges and the track record of all results in a folder.
func Write(dir string) ([]*Result, error) {
	all, err := Read(dir)
	if err != nil {
		return nil, err
	}
	v := newView(all)
	files, err := v.pages()
	if err != nil {
		return nil, fmt.Errorf("write pages: %w", err)
	}
	for _, l := range v.Libraries {
		if files[l.Name+"/"+BadgeName], err = l.badge(); err != nil {
			return nil, err
		}
	}
	if len(v.Pairs) > 0 {
		files[TrackRecord] = v.trackRecord()
	}
	for name, text := range files {
		if err := run.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Text writes a row for each result.
func Text(w io.Writer, all []*Result) error {
	rows := [][]string{{"library", "version", "", "questions", "seconds", "violated"}}
	for _, r := range all {
		one := rowOf(r, nil)
		failed := format.Few(r.Failed(), ", ")
		if r.NotRun != "" {
			failed = "not run: " + r.NotRun
		}
		if failed == "" {
			failed = format.None
		}
		rows = append(rows, []string{r.Setting, r.Version, r.Kind, one.Score, fmt.Sprintf("%.0f", r.Seconds), failed})
	}
	var t format.Lines
	t.PaintedColumns(rows, nil)
	if len(all) > 0 {
		said := newView(all).Verdict
		t.Add("")
		t.Paragraph(said.Headline)
		if said.Rest != "" {
			t.Paragraph(said.Rest)
		}
	}
	_, err := t.WriteTo(w)
	return err
}

// Changes writes the properties whose state differs between two versions of a library in the same setting.
func Changes(w io.Writer, all []*Result, since string) error {
	rows := [][]string{{"setting", "property", since, "now"}}
	v := newView(all)
	for _, l := range v.Libraries {
		for _, now := range l.Current() {
			i := slices.IndexFunc(l.Rows, func(r row) bool { return r.Version == since && r.Setting == now.Setting })
			if i < 0 {
				continue
			}
			for _, p := range v.Properties {
				if then, is := l.Rows[i].State(p.Name), now.State(p.Name); then != is {
					rows = append(rows, []string{now.Setting, p.Name, string(then), fmt.Sprintf("%s (%s)", is, now.Version)})
				}
			}
		}
	}
	var t format.Lines
	t.Add("")
	if t.Add("changed since " + since); len(rows) > 1 {
		t.PaintedColumns(rows, nil)
	} else {
		t.Add("  nothing")
	}
	_, err := t.WriteTo(w)
	return err
}
