package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"lockbench/internal/cli/console"
)

func TestPanicIsInternal(t *testing.T) {
	var stderr bytes.Buffer
	cmd := &cobra.Command{Run: func(*cobra.Command, []string) { panic("a bug") }}
	cmd.SetErr(&stderr)
	cmd.SetArgs(nil)
	if code := execute(t.Context(), cmd); code != console.ExitInternal || !strings.Contains(stderr.String(), "a bug") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}
