package serve

import (
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"
)

// fileTypes are what is shown in the browser; all else is handed over to be saved.
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
	folder, rest := r.PathValue("name"), r.PathValue("path")
	name := path.Join(folder, rest)
	if !folderName(folder) || strings.Contains(rest, `\`) {
		s.fail(w, http.StatusNotFound, "There is no such file.", "")
		return
	}
	if _, known := s.kindOf(folder); !known {
		s.fail(w, http.StatusNotFound, "There is no such folder of a run, a bench or an advice.", "")
		return
	}
	_, info, err := s.place(name)
	if err != nil {
		s.unreadable(w, "The file", err)
		return
	}
	f, err := s.root.Open(name)
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
