package selection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"lockbench/internal/choose/decision"
)

// embeddedBegins and embeddedEnds enclose the report in a page. Nothing else in a page can look like that: what is text
// there has no < of its own, and in JSON it is written \u003c.
const (
	embeddedBegins = `<script type="application/json" id="advice">`
	embeddedEnds   = `</script>`
)

// ReadPage reads the report out of a page: to render it again must give the same page.
func ReadPage(html []byte) (*decision.Report, error) {
	if n := bytes.Count(html, []byte(embeddedBegins)); n != 1 {
		return nil, fmt.Errorf("not a selection report: a page of one has its data in it once, this one %d times", n)
	}
	_, rest, _ := bytes.Cut(html, []byte(embeddedBegins))
	text, _, ended := bytes.Cut(rest, []byte(embeddedEnds))
	if !ended {
		return nil, errors.New("the page ends within its data: it was cut short")
	}
	r, err := ReadData(text)
	if err != nil {
		return nil, fmt.Errorf("the data in the page: %w", err)
	}
	return r, nil
}

// ReadData reads a report from its JSON.
func ReadData(text []byte) (*decision.Report, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	r := &decision.Report{}
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("the report's data: %w", err)
	}
	if r.Version != decision.Version {
		return nil, fmt.Errorf("the report was written in version %d of its format, this lockbench reads version %d", r.Version, decision.Version)
	}
	return r, nil
}
