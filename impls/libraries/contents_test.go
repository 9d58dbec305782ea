package libraries

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestContents checks which packages are found in the folders of installations. TestInstalled tries real ones, also in Go.
func TestContents(t *testing.T) {
	for registry, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"pypi":  {map[string]string{"redis-8.1.0.dist-info/METADATA": "", "redis/lock.py": "", "python_redis_lock-4.0.1.dist-info/METADATA": ""}, []string{"python_redis_lock:4.0.1", "redis:8.1.0"}},
		"maven": {map[string]string{"lib/lettuce-core-7.5.2.RELEASE.jar": "", "lib/slf4j-api-2.0.17.jar": "", "pom.xml": ""}, []string{"lettuce-core:7.5.2.RELEASE", "slf4j-api:2.0.17"}},
		"npm": {map[string]string{"node_modules/.package-lock.json": `{"packages": {"node_modules/@ioredis/commands": {"version": "1.4.0"},
			"node_modules/debug": {"version": "4.4.3"}, "node_modules/redlock/node_modules/debug": {"version": "3.2.7"}}}`}, []string{"@ioredis/commands:1.4.0", "debug:3.2.7", "debug:4.4.3"}},
		"crates": {map[string]string{"Cargo.lock": "[[package]]\nname = \"adapter\"\nversion = \"1.0.0\"\ndependencies = [\n \"rslock\",\n]\n\n" +
			"[[package]]\nname = \"rslock\"\nversion = \"0.10.0\"\nsource = \"registry\"\n"}, []string{"rslock:0.10.0"}},
	} {
		folder := t.TempDir()
		for name, text := range c.files {
			file := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Choice{Library: Library{Registry: registry}}.Contents(folder)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v (%v)", registry, got, c.want, err)
		}
	}
}
