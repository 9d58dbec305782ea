package advice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"lockbench/reports/words"
)

// credentials finds what stands before the @ of a URL. A password may have a space in it, if somebody did not encode it;
// but what follows host:port is other words, often a lock's name with the @ of its deployment.
var credentials = regexp.MustCompile(`://(?:[^\s/]*:[^\s/]*[^\s/\d][^\s/]*[ \t][^\n]*|\S*)@`)

// named finds a password in the parameters of a URL or of a connection.
var named = regexp.MustCompile(`(?i)\b(password|passwd|pwd)=[^\s&"']+`)

// Scrubbed is the report without the passwords of URLs, wherever in it they stand: the pages show what others wrote, and
// carry the report itself as well. To scrub a report twice changes nothing more.
func Scrubbed(r *Report) (*Report, error) { return rewritten(r, scrub) }

// readable is the report without characters that steer a terminal, or turn the direction of what follows: in a sentence
// they would reach beyond the name that has them.
func readable(r *Report) (*Report, error) {
	return rewritten(r, func(s string) string { return words.Clean(strings.NewReplacer("\n", " ", "\t", " ").Replace(s)) })
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
