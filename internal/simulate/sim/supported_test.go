package sim

import (
	"strings"
	"testing"
	"time"
)

// TestSupported: this Go release runs virtual time, in which two days take no time at all; and what goes wrong in it is an
// error.
func TestSupported(t *testing.T) {
	start := time.Now()
	if err := Supported(); err != nil {
		t.Error(err)
	}
	if time.Since(start) > time.Hour {
		t.Error("it really slept")
	}
	if err := inBubble(func() { panic("as a release might") }); err == nil || !strings.Contains(err.Error(), "as a release might") {
		t.Errorf("a panic became %v", err)
	}
}
