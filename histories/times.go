package histories

import (
	"fmt"
	"strconv"
	"time"
)

// setTime parses a time since the start of the history, in nanoseconds or as text such as "1.5ms".
func setTime(value []byte, into *time.Duration) error {
	d, err := parseDuration(string(value))
	if err == nil && (d < 0 || d >= Forever) {
		err = fmt.Errorf("want a time from 0 on, got %s", value)
	}
	*into = d
	return err
}

// setWait parses the timeout of an acquire.
func setWait(value []byte, into *time.Duration) error {
	switch string(value) {
	case `"try"`:
		*into = Try
		return nil
	case `"unlimited"`:
		*into = Unlimited
		return nil
	}
	return setTime(value, into)
}

func parseDuration(text string) (time.Duration, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(n), nil
	}
	if s, err := strconv.Unquote(text); err == nil {
		if d, err := time.ParseDuration(s); err == nil {
			return d, nil
		}
	}
	return 0, fmt.Errorf(`want nanoseconds or a duration such as "1.5ms", got %s`, text)
}
