// Package serve shows the folders that runs and benches left, in a browser: what comes in is a folder of folders and an
// address, what goes out is pages. It reads and never writes, serves nothing that lies outside of its folder, and has no
// password: that is why it listens on loopback unless told otherwise.
package serve

import (
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

//go:embed templates
var own embed.FS

//go:embed static/serve.js
var script []byte

// Server shows one folder of folders.
type Server struct {
	dir   string // as it was named
	root  *os.Root
	now   func() time.Time
	pages map[string]*template.Template

	folders   *lru.Cache[string, folder] // by their stamps, as overviews are
	overviews *lru.Cache[string, *overview]
	scans     chan struct{} // at most so many histories are read at once
}

// How much of anything is kept, read at once or shown.
const (
	mostFolders   = 2000
	mostScans     = 2
	mostFileBytes = 256 << 20 // of a JSON file that is read whole
	mostPageBytes = 64 << 20  // of a page that is served whole
)

// New looks at the folder that is to be shown. Close frees it.
func New(dir string) (*Server, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, root: root, now: time.Now, scans: make(chan struct{}, mostScans)}
	s.folders, _ = lru.New[string, folder](mostFolders) // it fails only for a size below 1
	s.overviews, _ = lru.New[string, *overview](32)
	if s.pages, err = parsePages(); err != nil {
		root.Close()
		return nil, fmt.Errorf("prepare the pages: %w", err)
	}
	return s, nil
}

// Close ends the reading of the folder.
func (s *Server) Close() error { return s.root.Close() }

// Handler answers requests; bound is the host name or address that was asked to listen on.
func (s *Server) Handler(bound string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /static/{file}", s.static)
	mux.HandleFunc("GET /folder/{name}", s.folderPage)
	mux.HandleFunc("GET /files/{name}/{path...}", s.file)
	mux.HandleFunc("GET /history/{name}/{path...}", s.history)
	mux.HandleFunc("GET /compare", s.compare)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.fail(w, http.StatusNotFound, "There is no such page.", "The list has all that there is to see.")
	})
	return s.guard(bound, mux)
}
