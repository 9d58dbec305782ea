package examples

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// templates holds a function for each template that copies it with its library to a folder, and returns its command line.
var templates = map[string]func(t *testing.T, dir string) []string{
	"python": func(t *testing.T, dir string) []string {
		copied(t, dir, "../impls/worker/python/template/worker.py", "../impls/worker/python/lockbench_worker.py")
		return []string{python("redis-py", "redis")(t)[0], filepath.Join(dir, "worker.py")}
	},
	"node": func(t *testing.T, dir string) []string {
		copied(t, dir, "../impls/worker/node/template/worker.mjs", "../impls/worker/node/lockbench-worker.mjs")
		installed := filepath.Dir(node("redlock-node", "redlock")(t)[1]) // the packages of redlock-node include ioredis, which the template imports
		packages, err := filepath.Abs(filepath.Join(installed, "node_modules"))
		if err == nil {
			err = os.Symlink(packages, filepath.Join(dir, "node_modules"))
		}
		if err != nil {
			t.Fatal(err)
		}
		return []string{"node", filepath.Join(dir, "worker.mjs")}
	},
}

// TestTemplates checks that each template is a working adapter as it is.
func TestTemplates(t *testing.T) {
	for language, command := range templates {
		t.Run(language, func(t *testing.T) {
			local(t)
			a, b := startTwo(t, "my-lock", command(t, t.TempDir()))
			exclusion(t, a.Lock(), b.Lock())
			releases(t, a.Lock(), b.Lock())
			resource(t, a)
			if err := errors.Join(a.Failed(), b.Failed(), a.Close(), b.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
