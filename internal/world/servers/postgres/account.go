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

// unprivileged returns the account that the server runs as, since it refuses to be root; nil: our own.
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
	return nil, errors.New("it does not run as root, and there is neither a user postgres nor a user nobody")
}

// enters returns why an account cannot enter a folder that servers have theirs in.
func (a *account) enters(dir string) error {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("it does not run as root, and nobody else may enter %s: set TMPDIR to a folder that everybody may", at)
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
