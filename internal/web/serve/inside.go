package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Everything is opened through the root: links within the folder are followed, and none leads out of it.

// place returns the path on disk of a regular file within the folder, for readers that want a path. Others are refused: a
// pipe would block its reader.
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

func (s *Server) open(name string) (*os.File, fs.FileInfo, error) {
	_, info, err := s.place(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := s.root.Open(name)
	return f, info, err
}

func (s *Server) read(name string, into any) error {
	f, info, err := s.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() > mostFileBytes {
		return fmt.Errorf("%s has %d MiB, more than is read here", path.Base(name), info.Size()>>20)
	}
	if err := json.NewDecoder(io.LimitReader(f, mostFileBytes)).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return nil
}

// contained refuses a folder in which a link leads out of what is served: readers of whole folders follow links.
func (s *Server) contained(dir string) error {
	return fs.WalkDir(s.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type().IsRegular() || d.IsDir() {
			return err
		}
		if info, err := s.root.Stat(name); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
			return fmt.Errorf("%s leads out of the folder that is served, or is no file", path.Base(name))
		}
		return nil
	})
}

// folderName reports whether a name may be that of a folder: one in the folder that is served, or one in such a one.
func folderName(name string) bool {
	return name != "." && fs.ValidPath(name) && strings.Count(name, "/") <= 1 && !strings.Contains(name, `\`)
}

// missing reports whether something does not exist, or lies where nothing is served from.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || strings.Contains(fmt.Sprint(err), "escapes")
}

// folderPath is a folder for readers of whole folders: what they read was checked before, see place and contained.
func (s *Server) folderPath(name string) string {
	return filepath.Join(s.dir, filepath.FromSlash(name))
}

// fileType returns the type of what is shown in the browser; all else is handed over to be saved.
func fileType(name string) (kind string, shown bool) {
	switch strings.ToLower(path.Ext(name)) {
	case ".html":
		return "text/html; charset=utf-8", true
	case ".json":
		return "application/json; charset=utf-8", true
	case ".svg":
		return "image/svg+xml", true
	case ".md", ".txt", ".hlog", ".hgrm", ".yaml", ".yml", ".csv", ".log":
		return "text/plain; charset=utf-8", true
	}
	return "application/octet-stream", false
}

// userinfo finds a password in the address of a file's text: in a file as it was written, so that nothing else is changed.
var userinfo = regexp.MustCompile(`://[^\s"'<>/?#@]*:[^\s"'<>/?#@]*@`)

// file serves a file of a folder: a report, which may do nothing but be looked at, or data.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	name, rest, ok := s.pathOf(w, r, "file")
	if !ok {
		return
	}
	name = path.Join(name, rest)
	f, info, err := s.open(name)
	if err != nil {
		s.unreadable(w, "The file", err)
		return
	}
	defer f.Close()
	kind, shown := fileType(name)
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", reportPolicy)
	if !shown || info.Size() > mostPageBytes {
		h.Set("Content-Disposition", "attachment")
		http.ServeContent(w, r, "", info.ModTime(), f)
		return
	}
	text, err := io.ReadAll(io.LimitReader(f, mostPageBytes))
	if err != nil {
		s.unreadable(w, "The file", err)
		return
	}
	w.Write(userinfo.ReplaceAll(text, []byte("://***@")))
}

// pathOf returns the folder and the path in it that a request names, or answers that there is no such thing.
func (s *Server) pathOf(w http.ResponseWriter, r *http.Request, what string) (name, rest string, ok bool) {
	name, rest = r.PathValue("name"), path.Clean(r.PathValue("path"))
	switch {
	case rest == "." || strings.Contains(rest, `\`):
		s.fail(w, http.StatusNotFound, "There is no such "+what+".", "")
		return "", "", false
	case s.kindOf(name) == "":
		s.fail(w, http.StatusNotFound, "There is no such folder of a run, a bench or an advice.", "")
		return "", "", false
	}
	return name, rest, true
}

// stamp identifies one content of a file: what was made of it is kept by that.
func stamp(name string, info fs.FileInfo) string {
	return fmt.Sprint(name, " ", info.Size(), " ", info.ModTime().UnixNano())
}
