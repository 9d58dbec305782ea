package advice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// credentials finds what stands before the @ of a URL. A password may have a space in it, if somebody did not encode it;
// but what follows host:port is other words, often a lock's name with the @ of its deployment.
var credentials = regexp.MustCompile(`://(?:[^\s/]*:[^\s/]*[^\s/\d][^\s/]*[ \t][^\n]*|\S*)@`)

// named finds a password in the parameters of a URL or of a connection.
var named = regexp.MustCompile(`(?i)\b(password|passwd|pwd)=[^\s&"']+`)

// Scrubbed is the report without the passwords of URLs, wherever in it they stand: the pages show what others wrote, and
// carry the report itself as well. To scrub a report twice changes nothing more.
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
	if text, err = json.Marshal(scrubbedValue(all)); err != nil {
		return nil, err
	}
	clean := &Report{}
	return clean, json.Unmarshal(text, clean)
}

func scrubbedValue(v any) any {
	switch v := v.(type) {
	case string:
		return scrub(v)
	case []any:
		for i := range v {
			v[i] = scrubbedValue(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, value := range v {
			clean[scrub(key)] = scrubbedValue(value)
		}
		return clean
	}
	return v
}

// scrub goes flag by flag, so that one's password does not take the next one with it.
func scrub(text string) string {
	text = named.ReplaceAllString(text, "$1=***")
	if !strings.Contains(text, "://") {
		return text
	}
	var b strings.Builder
	for text != "" {
		end := len(text)
		if i := strings.Index(text[1:], " --"); i >= 0 {
			end = i + 1
		}
		b.WriteString(credentials.ReplaceAllString(text[:end], "://***@"))
		text = text[end:]
	}
	return b.String()
}
