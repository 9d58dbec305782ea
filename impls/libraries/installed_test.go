package libraries

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"lockbench/impls/worker"
)

const describe = `{"lockbench_worker":2,"describe":true,"nodes":[],"prefix":"","process":0,"seed":0,"resource":""}` + "\n"

// TestInstalled installs every version of the libraries whose folders match the environment variable
// LOCKBENCH_LIBRARIES, such as python/*, and starts each worker. The name and the store that the worker states must be those
// of library.yaml. The test downloads packages, so it is skipped unless the variable is set.
func TestInstalled(t *testing.T) {
	pattern := os.Getenv("LOCKBENCH_LIBRARIES")
	if pattern == "" {
		t.Skip("LOCKBENCH_LIBRARIES is not set: make libraries")
	}
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, l := range all {
		if match, err := path.Match(pattern, l.folder()); err != nil {
			t.Fatal(err)
		} else if !match {
			continue
		}
		tried++
		for _, v := range l.Versions {
			for _, c := range l.Choices(v) {
				t.Run(c.String(), c.start)
			}
		}
	}
	if tried == 0 {
		t.Fatalf("%s matches no library", pattern)
	}
}

// start installs a version and starts its worker. It compares the worker's description with that of the library.
func (c Choice) start(t *testing.T) {
	var log bytes.Buffer
	folder, err := Install(t.Context(), c, &log)
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	if got, err := c.Contents(folder); err != nil || !slices.ContainsFunc(got, func(p string) bool { return strings.HasSuffix(p, strings.TrimPrefix(c.Version.Version, "v")) }) {
		t.Errorf("the installation consists of %v (%v)", got, err)
	}
	start := exec.CommandContext(t.Context(), "sh", "-c", "exec "+c.Command(folder))
	start.Stdin, start.Stderr = strings.NewReader(describe), &log
	answer, err := start.Output()
	if err != nil {
		t.Fatalf("start: %v\n%s", err, &log)
	}
	var ready worker.Ready
	if err := json.Unmarshal(answer, &ready); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	if ready.Name != c.Setting.Name || cmp.Or(ready.Store, "redis") != c.Library.Store || ready.Error != "" {
		t.Errorf("the worker describes itself as %s", answer)
	}
}
