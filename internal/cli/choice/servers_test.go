package choice

import (
	"testing"
	"time"

	"lockbench/internal/world/servers"
)

func TestRunIDsAreTheirOwn(t *testing.T) {
	now := time.Now()
	a, b := RunID(), RunID()
	at, ok := servers.RunBegan(a)
	if a == b || !ok || now.Sub(at).Abs() > time.Second {
		t.Errorf("%s, %s: begun %v (%t)", a, b, at, ok)
	}
}
