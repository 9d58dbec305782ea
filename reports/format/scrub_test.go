package format

import "testing"

func TestScrub(t *testing.T) {
	for text, want := range map[string]string{
		"plain, redlock@redis-5": "plain, redlock@redis-5",
		"lockbench run --redis redis://u:s3cret@h:1 --lock redlock@five": "lockbench run --redis redis://***@h:1 --lock redlock@five",
		"lockbench run --redis redis://h:6379 redlock@five":              "lockbench run --redis redis://h:6379 redlock@five",
		"plain":                                      "plain",
		"see https://example.com":                    "see https://example.com",
		"dial redis://u:p@ss w@h:1: no":              "dial redis://***@h:1: no",
		"dial redis://u:pa/ss w@h:1: no":             "dial redis://***@h:1: no",
		"dial redis://u:pa ss@h:1: no":               "dial redis://***@h:1: no",
		"see https://example.com, and redlock@five":  "see https://example.com, and redlock@five",
		"postgres://h/db?user=u&password=s3cret&x=1": "postgres://h/db?user=u&password=***&x=1",
	} {
		got := Scrub(text)
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if again := Scrub(got); again != got {
			t.Errorf("scrubbed again, %q becomes %q", got, again)
		}
	}
}
