package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// Everything is opened through the root: links within the folder are followed, and none leads out of it.

// place is a path of a file on the disk that lies within the folder, for readers that want a path. What is no plain file is
// not opened: a pipe would keep us waiting.
func (s *Server) place(name string) (string, fs.FileInfo, error) {
	info, err := s.root.Stat(name)
	if err != nil {
		return "", nil, err
	}
	if !info.Mode().IsRegular() {
		return "", nil, fmt.Errorf("%s is not a file", path.Base(name))
	}
	return filepath.Join(s.dir, filepath.FromSlash(name)), info, nil
}

// read reads a JSON file whole.
func (s *Server) read(name string, into any) error {
	_, info, err := s.place(name)
	if err != nil {
		return err
	}
	if info.Size() > mostFileBytes {
		return fmt.Errorf("%s has %d MiB, more than is read here", path.Base(name), info.Size()>>20)
	}
	f, err := s.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, mostFileBytes)).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return nil
}

// contained refuses a folder in which a link leads out of what is served: readers of whole folders follow links.
func (s *Server) contained(dir string) error {
	return fs.WalkDir(s.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Type().IsRegular() || d.IsDir() {
			return nil
		}
		if info, err := s.root.Stat(name); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
			return fmt.Errorf("%s leads out of the folder that is served, or is no file", path.Base(name))
		}
		return nil
	})
}

// folderName tells whether a name may be that of a folder: one in the folder that is served, or one in such a one.
func folderName(name string) bool {
	return name != "." && fs.ValidPath(name) && strings.Count(name, "/") <= 1 && !strings.Contains(name, `\`)
}

// missing tells whether something is not there, or lies where nothing is served from.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || strings.Contains(fmt.Sprint(err), "escapes")
}

// folderPath is a folder for readers of whole folders: what they read was looked at before, see place and contained.
func (s *Server) folderPath(name string) string {
	return filepath.Join(s.dir, filepath.FromSlash(name))
}
