package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

type account struct{ uid, gid int }

// unprivileged returns the account that runs the server, because PostgreSQL refuses to run as root. It returns nil if
// the current user is not root.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		gid, errGroup := strconv.Atoi(u.Gid)
		if errors.Join(err, errGroup) == nil {
			return &account{uid, gid}, nil
		}
	}
	return nil, errors.New("PostgreSQL refuses to run as root: add a user named postgres")
}

// enters returns an error if the account cannot access a folder or one of its parents.
func (a *account) enters(dir string) error {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("PostgreSQL refuses to run as root, and other users cannot enter %s: set TMPDIR to a folder that they can enter", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

func handOver(dir string) error {
	as, err := unprivileged()
	if err != nil || as == nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, as.uid, as.gid)
	})
}
