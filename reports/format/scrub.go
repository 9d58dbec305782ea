package format

import (
	"regexp"
	"strings"
)

// credentials finds what stands before the @ of a URL. A password may have a space in it, if somebody did not encode it;
// but what follows host:port is other words, often a lock's name with the @ of its deployment.
var credentials = regexp.MustCompile(`://(?:[^\s/]*:[^\s/]*[^\s/\d]\S*[ \t][^\n]*|\S*)@`)

// named finds a password in the parameters of a URL or of a connection.
var named = regexp.MustCompile(`(?i)\b(password|passwd|pwd)=[^\s&"']+`)

// Scrub takes the passwords out of a text that may have URLs in it. It goes flag by flag, so that one's password does not take the next one with it.
func Scrub(text string) string {
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
