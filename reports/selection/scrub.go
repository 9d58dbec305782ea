package selection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"lockbench/reports/format"
)

// Scrubbed is the report without the passwords of URLs, wherever in it they stand: the pages show what others wrote, and
// carry the report itself as well. To scrub a report twice changes nothing more.
func Scrubbed(r *Report) (*Report, error) { return rewritten(r, format.Scrub) }

// Readable is the report without characters that steer a terminal, or turn the direction of what follows: in a sentence
// they would reach beyond the name that has them.
func Readable(r *Report) (*Report, error) {
	return rewritten(r, func(s string) string { return format.Clean(strings.NewReplacer("\n", " ", "\t", " ").Replace(s)) })
}

// rewritten is a copy of the report with every text rewritten.
func rewritten(r *Report, rewrite func(string) string) (*Report, error) {
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
	if text, err = json.Marshal(rewrittenValue(all, rewrite)); err != nil {
		return nil, err
	}
	clean := &Report{}
	return clean, json.Unmarshal(text, clean)
}

func rewrittenValue(v any, rewrite func(string) string) any {
	switch v := v.(type) {
	case string:
		return rewrite(v)
	case []any:
		for i := range v {
			v[i] = rewrittenValue(v[i], rewrite)
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, value := range v {
			clean[rewrite(key)] = rewrittenValue(value, rewrite)
		}
		return clean
	}
	return v
}
