package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/internal/cli/console"
)

func TestPanicIsInternal(t *testing.T) {
	var stderr bytes.Buffer
	cmd := &cobra.Command{Run: func(*cobra.Command, []string) { panic("a bug\x1b[2J") }}
	cmd.SetErr(&stderr)
	cmd.SetArgs(nil)
	if code := execute(t.Context(), cmd); code != console.ExitInternal || !strings.Contains(stderr.String(), "a bug·[2J") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}

// TestHelp checks the length and width of every help text, and that each contains an example.
func TestHelp(t *testing.T) {
	const widest, longest = 100, 20
	for _, cmd := range append(rootCommand().Commands(), rootCommand()) {
		if cmd.GroupID == "" && cmd.HasParent() {
			continue
		}
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > widest {
				t.Errorf("%s: a line of %d columns: %s", cmd.Name(), n, line)
			}
		}
		before, _, _ := strings.Cut(out.String(), "\nUsage:")
		if lines := strings.Count(before, "\n"); cmd.HasParent() && lines > longest || lines > 25 {
			t.Errorf("%s: %d lines before the flags", cmd.Name(), lines)
		}
		if cmd.Flags().HasAvailableFlags() && cmd.HasParent() && cmd.Name() != "list" && cmd.Name() != "version" && cmd.Name() != "worker" && !strings.Contains(before, "\n  lockbench "+cmd.Name()) {
			t.Errorf("%s: its help has no example", cmd.Name())
		}
	}
}

// TestSameFlagSameWords checks that all commands describe a flag in the same words. Text in parentheses may differ.
func TestSameFlagSameWords(t *testing.T) {
	meaning := map[string]bool{"all": true, "run": true, "in": true, "out": true} // flags whose meaning differs between commands
	words := map[string]string{}
	detail := regexp.MustCompile(` \(.*\)$`)
	for _, cmd := range rootCommand().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			usage := detail.ReplaceAllString(f.Usage, "")
			switch f.Name {
			case "servers", "suite", "baseline", "resume", "help":
				usage, _, _ = strings.Cut(usage, ":")
			case "junit":
				usage, _, _ = strings.Cut(usage, " for each")
			}
			if known, ok := words[f.Name]; ok && known != usage && !meaning[f.Name] {
				t.Errorf("--%s is %q in %s, and %q elsewhere", f.Name, usage, cmd.Name(), known)
			}
			words[f.Name] = usage
		})
	}
}
