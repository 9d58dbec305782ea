// Package pages is how a selection report looks: a page, a decision record, and what a terminal shows. A report goes in, and
// the same report always gives the same bytes.
package selection

import (
	"bytes"
	"encoding/json"

	"lockbench/internal/choose/decision"
)

// The files of a selection report.
const (
	DataName   = "advice.json"
	PageName   = "advice.html"
	RecordName = "advice.md"
)

// Forms are the files of a report, by name.
func Forms(r *decision.Report) (map[string][]byte, error) {
	page, err := Page(r)
	if err != nil {
		return nil, err
	}
	record, err := Markdown(r)
	if err != nil {
		return nil, err
	}
	data, err := Data(r)
	return map[string][]byte{DataName: data, PageName: page, RecordName: record}, err
}

// Data is a report as JSON, for programs.
func Data(r *decision.Report) ([]byte, error) {
	r, err := decision.Scrubbed(r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	err = e.Encode(r)
	return b.Bytes(), err
}
