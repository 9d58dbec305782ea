package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/cli"
	"lockbench/internal/cli/console"
)

// TestServe checks that lockbench serve prints its address, shows the result folders, and ends when interrupted.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "torn"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "torn", "run.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, in := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(ctx, in, &stderr, []string{"serve", dir, "--addr", "127.0.0.1:0"})
		in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	address := strings.TrimSpace(line)
	if err != nil || !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Fatalf("it says %q: %v\n%s", line, err, &stderr)
	}
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "torn") {
		t.Errorf("%d %v %s", answer.StatusCode, err, page)
	}
	interrupt()
	if c := <-code; c != console.ExitInterrupted {
		t.Errorf("exit code %d\n%s", c, &stderr)
	}
}
