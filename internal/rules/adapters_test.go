package rules

import (
	"strings"
	"testing"
)

// TestAdaptersOnThePage checks that the adapters in docs/your-own-lock.md equal the files in examples and impls/libraries, and that the page is short.
func TestAdaptersOnThePage(t *testing.T) {
	page := read(t, "../../docs/your-own-lock.md")
	for file, language := range map[string]string{
		"examples/redis-py/worker.py":                     "python",
		"examples/etcd3-node/worker.mjs":                  "js",
		"impls/libraries/java/curator/CuratorWorker.java": "java",
		"examples/postgres-rust/src/main.rs":              "rust",
		"examples/go-redislock/main.go":                   "go",
	} {
		if !strings.Contains(page, "`"+file+"`:\n\n```"+language+"\n"+read(t, "../../"+file)+"```\n") {
			t.Errorf("docs/your-own-lock.md does not contain %s as it is", file)
		}
	}
	if lines := strings.Count(page, "\n"); lines > 340 {
		t.Errorf("docs/your-own-lock.md has %d lines, at most 340", lines)
	}
}
