package libraries

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"lockbench/impls/worker"
)

const describe = `{"lockbench_worker":2,"describe":true,"nodes":[],"prefix":"","process":0,"seed":0,"resource":""}` + "\n"

// TestInstalled installs every version of the libraries whose folders match the environment variable
// LOCKBENCH_LIBRARIES, such as python/*. It starts each worker and compares the worker's description with library.yaml.
// The test downloads packages, so it is skipped unless the variable is set.
func TestInstalled(t *testing.T) {
	pattern := os.Getenv("LOCKBENCH_LIBRARIES")
	if pattern == "" {
		t.Skip("LOCKBENCH_LIBRARIES is not set: make libraries")
	}
	files, err := filepath.Glob(filepath.FromSlash(pattern) + "/library.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s matches %d libraries: %v", pattern, len(files), err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var l library
		if err := yaml.Unmarshal(source, &l); err != nil {
			t.Fatal(err)
		}
		for _, v := range l.Versions {
			t.Run(filepath.ToSlash(filepath.Dir(file))+"@"+v.Version, func(t *testing.T) { l.start(t, v.Version) })
		}
	}
}

// start installs a version and starts its worker. It compares the worker's description with that of the library.
func (l library) start(t *testing.T, version string) {
	var log bytes.Buffer
	install := exec.CommandContext(t.Context(), "sh", "install.sh", l.Language+"/"+l.Name, version)
	install.Stderr = &log
	folder, err := install.Output()
	if err != nil {
		t.Fatalf("install: %v\n%s", err, &log)
	}
	start := exec.CommandContext(t.Context(), "sh", "-c", "exec "+strings.ReplaceAll(l.Start, "{folder}", strings.TrimSpace(string(folder))))
	start.Stdin, start.Stderr = strings.NewReader(describe), &log
	answer, err := start.Output()
	if err != nil {
		t.Fatalf("start: %v\n%s", err, &log)
	}
	var ready worker.Ready
	if err := json.Unmarshal(answer, &ready); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	if ready.Name != l.Name || cmp.Or(ready.Store, "redis") != l.Store || ready.Error != "" {
		t.Errorf("the worker describes itself as %s", answer)
	}
}
