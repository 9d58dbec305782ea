package advice

import (
	"encoding/json"
	"fmt"
	"io"
)

// The files of a selection report.
const (
	DataName   = "advice.json"
	PageName   = "advice.html"
	RecordName = "advice.md"
)

// Forms are the files of a report, by name.
func Forms(r *Report) (map[string][]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	return map[string][]byte{DataName: data}, err
}

// Text STUB
func Text(w io.Writer, r *Report) error { fmt.Fprintln(w, r.Decision.Sentence); return nil }
