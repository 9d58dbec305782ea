package selection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/samber/lo"

	"lockbench/reports/format"
)

// The names of the files of a selection report.
const (
	DataName   = "advice.json"
	PageName   = "advice.html"
	RecordName = "advice.md"
)

// Forms returns the files of a report: their contents by name.
func Forms(r *Report) (map[string][]byte, error) {
	page, err1 := Page(r)
	record, err2 := Markdown(r)
	data, err3 := Data(r)
	return map[string][]byte{DataName: data, PageName: page, RecordName: record}, errors.Join(err1, err2, err3)
}

// Data returns a report as JSON.
func Data(r *Report) ([]byte, error) {
	r, err := Scrubbed(r)
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

// ReadData reads a report from its JSON.
func ReadData(text []byte) (*Report, error) {
	var of struct {
		Version int `json:"lockbench_advice"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return nil, fmt.Errorf("read selection report: %w", err)
	}
	if of.Version != Version {
		return nil, fmt.Errorf("read selection report: it has version %d and this lockbench reads version %d: run `lockbench advise` again, with --evidence for the same runs", of.Version, Version)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	r := &Report{}
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("read selection report: %w", err)
	}
	return r, nil
}

// embeddedBegins and embeddedEnds enclose the JSON of the report in a page. The JSON contains \u003c instead of <.
const (
	embeddedBegins = `<script type="application/json" id="advice">`
	embeddedEnds   = `</script>`
)

// ReadPage reads the report that is embedded in a page.
func ReadPage(html []byte) (*Report, error) {
	if n := bytes.Count(html, []byte(embeddedBegins)); n != 1 {
		return nil, fmt.Errorf("not a selection report: its page contains the data once, this one %d times", n)
	}
	_, rest, _ := bytes.Cut(html, []byte(embeddedBegins))
	text, _, ended := bytes.Cut(rest, []byte(embeddedEnds))
	if !ended {
		return nil, errors.New("the page ends within its data: it was cut short")
	}
	return ReadData(text)
}

// Scrubbed returns the report without passwords in URLs. A second call of Scrubbed changes nothing.
func Scrubbed(r *Report) (*Report, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write the report as JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // keep numbers as they are written, without rounding
	var all any
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	if text, err = json.Marshal(scrubbed(all)); err != nil {
		return nil, err
	}
	clean := &Report{}
	return clean, json.Unmarshal(text, clean)
}

func scrubbed(v any) any {
	switch v := v.(type) {
	case string:
		return format.Scrub(v)
	case []any:
		return lo.Map(v, func(v any, _ int) any { return scrubbed(v) })
	case map[string]any:
		return lo.MapEntries(v, func(key string, v any) (string, any) { return format.Scrub(key), scrubbed(v) })
	}
	return v
}
