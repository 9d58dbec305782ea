package children

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestLeftovers(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	const nobody = 1 << 30
	left := fmt.Sprintf("lockbench-%d-1", nobody)
	for _, name := range []string{left, fmt.Sprintf("lockbench-%d-1", os.Getpid()), fmt.Sprintf("lockbench-%d", nobody), "lockbench-0-1", "other"} {
		if err := os.Mkdir(filepath.Join(tmp, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(tmp, filepath.Join(tmp, left+"1")); err != nil {
		t.Fatal(err)
	}
	all, err := Leftovers()
	if err != nil || len(all) != 1 || filepath.Base(all[0].Dir) != left || all[0].Owner != nobody {
		t.Fatalf("%+v, %v", all, err)
	}
	err = all[0].Remove()
	if _, gone := os.Stat(all[0].Dir); err != nil || gone == nil {
		t.Errorf("the folder still exists: %v", err)
	}
}
