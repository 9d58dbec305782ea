package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"none", "local-mutex", "setnx", "set-px", "set-px-lua"}
	for name, want := range map[string]string{"setxn": "setnx", "set-px-lau": "set-px-lua", "local": "local-mutex", "zookeeper": "", "": "", strings.Repeat("n", 81): ""} {
		if got, _ := Nearest(name, known); got != want {
			t.Errorf("nearest to %s is %q, want %q", name, got, want)
		}
	}
}

func TestMeant(t *testing.T) {
	for name, want := range map[string]string{"setxn": " (did you mean setnx?)", "zookeeper": ""} {
		if got := Meant(name, []string{"setnx"}); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
