package sim

import (
	"strings"
	"testing"
	"time"
)

// TestSupported checks that this Go release supports virtual time, and that a panic in virtual time becomes an error.
func TestSupported(t *testing.T) {
	start := time.Now()
	if err := Supported(); err != nil {
		t.Error(err)
	}
	if time.Since(start) > time.Hour {
		t.Error("the sleep took real time")
	}
	if err := inBubble(func() { panic("as a release might") }); err == nil || !strings.Contains(err.Error(), "as a release might") {
		t.Errorf("a panic became %v", err)
	}
}
