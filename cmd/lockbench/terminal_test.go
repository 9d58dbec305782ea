package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"lockbench/internal/cli/console"
)

// evil is text with control characters that clear a terminal, set its title, and reverse the direction of text.
const evil = "x\x1b[2J\x1b]0;t\a\u009b31m\u202ey"

// hostile implements the script command "hostile DIR", which writes two histories whose names, locks and keys have
// control characters. It sets HISTORY and BROKEN to their paths. The history BROKEN has an unknown field.
func hostile(ts *testscript.TestScript, _ bool, args []string) {
	quoted := strings.NewReplacer("\x1b", `\u001b`, "\a", `\u0007`).Replace(evil)
	acquire := `{"client":0,"hold":1,"kind":"acquire","outcome":"ok","key":"` + quoted + `","call":"1ms","return":"2ms","validity":"unbounded"}` + "\n"
	second := strings.NewReplacer(`"client":0`, `"client":1`, `"hold":1`, `"hold":2`, "1ms", "3ms", "2ms", "4ms").Replace(acquire)
	header := `{"lockbench":2,"lock":"` + quoted + `","workload":"` + quoted + `","clients":2,"ttl_ns":"5s"}` + "\n"
	dir := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(dir, 0o755))
	for name, text := range map[string]string{"HISTORY": header + acquire + second, "BROKEN": header + `{"` + quoted + `":1}` + "\n"} {
		file := filepath.Join(dir, evil+".jsonl")
		if name == "BROKEN" {
			file = filepath.Join(dir, "broken"+evil+".jsonl")
		}
		ts.Setenv(name, file)
		ts.Check(os.WriteFile(file, []byte(text), 0o644))
	}
}

// tame implements the script command "tame [FILE...]". It checks that the output of the last command and the files have
// no control characters except newlines and tabs.
func tame(ts *testscript.TestScript, _ bool, files []string) {
	for _, name := range append(files, "stdout", "stderr") {
		text := ts.ReadFile(name)
		if i := strings.IndexFunc(text, func(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Cf) && c != '\n' && c != '\t' }); i >= 0 {
			ts.Fatalf("%s has a hidden character: %q", name, text[max(0, i-40):min(len(text), i+40)])
		}
	}
}

// narrow implements the script command "narrow", which checks that no line of the last command's output is wider than
// 100 columns.
func narrow(ts *testscript.TestScript, _ bool, _ []string) {
	for line := range strings.Lines(ts.ReadFile("stdout") + ts.ReadFile("stderr")) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			ts.Fatalf("a line of %d columns: %s", n, line)
		}
	}
}

// TestInterruptedByUser checks the commands that run for a long time. After one interrupt, each of them must end, print
// a message, and exit with code 130.
func TestInterruptedByUser(t *testing.T) {
	t.Parallel()
	program := must(exec.LookPath("lockbench"))
	for name, c := range map[string]struct {
		args []string
		sign string // output that shows that the command has begun
	}{
		"question": {[]string{"advise"}, "Why:"},
		"serve":    {[]string{"serve", ".", "--addr", "127.0.0.1:0"}, "http://127.0.0.1:"},
		"explore":  {[]string{"explore", "--locks", "set-px", "--for", "10m"}, "virtual hours"},
		"run":      {[]string{"run", "--servers", "embedded", "--locks", "set-px", "--workloads", "contend", "--trials", "10000", "--duration", "50ms"}, "first verdict"},
		"bench":    {[]string{"bench", "--servers", "embedded", "--locks", "set-px", "--budget", "10m"}, "blocks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program, c.args...)
			cmd.Dir = t.TempDir()
			out, in := io.Pipe()
			var both bytes.Buffer
			cmd.Stdout, cmd.Stderr = in, in
			answers, err := cmd.StdinPipe() // keep stdin open, but write nothing
			if err != nil {
				t.Fatal(err)
			}
			defer answers.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
			defer late.Stop()
			ended := make(chan struct{})
			go func() { _ = cmd.Wait(); in.Close(); close(ended) }()
			signalled, buffer := false, make([]byte, 4096)
			for err == nil {
				var n int
				n, err = out.Read(buffer)
				both.Write(buffer[:n])
				if !signalled && strings.Contains(both.String(), c.sign) {
					signalled = true
					_ = cmd.Process.Signal(os.Interrupt)
				}
			}
			<-ended
			if code := cmd.ProcessState.ExitCode(); code != console.ExitInterrupted || !signalled || !strings.HasSuffix(both.String(), "lockbench: interrupted\n") {
				t.Errorf("exit code %d, signalled: %t\n%s", code, signalled, &both)
			}
			if _, err := os.Lstat(filepath.Join(cmd.Dir, "runs", "latest")); err == nil {
				t.Error("runs/latest points to an unfinished run")
			}
		})
	}
}
