package selection

import (
	"bytes"
	"encoding/json"
	"fmt"

	"lockbench/reports/format"
)

// Scrubbed returns the report without the passwords of URLs, in any of its texts: pages show what others wrote, and carry
// the report itself. Scrubbing twice changes nothing more.
func Scrubbed(r *Report) (*Report, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write the report as JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // so that figures stay as they were written
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
		for i := range v {
			v[i] = scrubbed(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, value := range v {
			clean[format.Scrub(key)] = scrubbed(value)
		}
		return clean
	}
	return v
}
