// Package serve shows the folders that runs and benches left, in a browser: what comes in is a folder of folders and an
// address, what goes out is pages. It reads and never writes, serves nothing that lies outside of its folder, and has no
// password: that is why it listens on loopback unless told otherwise.
package serve

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"os"
	"strings"
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
	mostRequests  = 64 // at once
	mostFolders   = 2000
	mostScans     = 2         // of histories, at once
	mostUnmarked  = 2_000_000 // operations of a history before a mark: replay keeps them in memory
	mostFileBytes = 256 << 20 // of a JSON file that is read whole
	mostPageBytes = 64 << 20  // of a page that is served whole
	mostNewest    = 6         // verdicts of a run in progress

	// A run without a sign of life for this long is taken for killed. One in progress writes twice a second, except while
	// servers come up or a long history is judged.
	quiet = time.Minute

	// Of an overview.
	buckets      = 96
	mostClients  = 4096
	mostKeys     = 1000
	mostOverlaps = 200
	mostFaults   = 200
	mostParts    = 500 // holds of one overlap: without a lock it lasts as long as the run
	mostJumps    = 24

	// Of a window.
	narrowest  = time.Microsecond
	mostOps    = 300 // drawn and listed one by one
	mostLanes  = 40
	mostBars   = 4000
	resolution = 450 // holds that are nearer than one part in so many are drawn as one
	mostHatch  = 60
	mostBeyond = 20_000 // events after the window, in which what it began may end
)

const harness = "harness" // its client number in a query

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

// What is wrong with an address before anybody tries to listen on it.
var (
	ErrNotLoopback = errors.New("the address can be reached from other machines, and the pages have no password")
	ErrNoAddress   = errors.New("want host:port, such as 127.0.0.1:7070")
)

// Listen listens on an address that only this machine can reach, or on any if anyone may look.
func Listen(address string, anyone bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", address, ErrNoAddress)
	}
	if !anyone && !loopback(host) {
		return nil, fmt.Errorf("address %q: %w", address, ErrNotLoopback)
	}
	l, err := net.Listen("tcp", address)
	if err == nil && !anyone && !l.Addr().(*net.TCPAddr).IP.IsLoopback() { // a name may be resolved to something else
		return nil, errors.Join(fmt.Errorf("address %q: %w", address, ErrNotLoopback), l.Close())
	}
	return l, err
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Run answers requests until the context ends; requests under way then have a second to finish.
func (s *Server) Run(ctx context.Context, l net.Listener, bound string) error {
	server := &http.Server{
		Handler:           s.Handler(bound),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute, // a long history takes its time
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	moment, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if server.Shutdown(moment) == nil {
		return nil
	}
	return server.Close() // a request is cut off: nothing is lost by that
}

// Policies of what a page may do. Ours run the one script and fetch from here alone. Reports are files that may have come
// from anybody: they may style and script themselves, as an origin of their own, and fetch nothing.
const (
	ownPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	reportPolicy = "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " +
		"img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

// guard lets only reads through, by a name of this server, and a limited number at once.
func (s *Server) guard(bound string, next http.Handler) http.Handler {
	places := make(chan struct{}, mostRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, value := range map[string]string{"Content-Security-Policy": ownPolicy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store"} {
			h.Set(name, value)
		}
		if !ours(r, bound) {
			s.fail(w, http.StatusMisdirectedRequest, "This server does not answer to that name.",
				"Open it by the address that lockbench serve printed: another site's name could be made to lead here.")
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			s.fail(w, http.StatusMethodNotAllowed, "There is nothing to change here: pages can be read, and no more.", "")
			return
		}
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			h.Set("Retry-After", "1")
			s.fail(w, http.StatusServiceUnavailable, "Too many requests at once.", "Try again in a moment.")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1)
		next.ServeHTTP(w, r)
	})
}

// ours reports whether a request names this server: by a name or address of loopback, by the one it listens on, or by the
// address that the request came in on. It refuses a name that another site made lead here (DNS rebinding).
func ours(r *http.Request, bound string) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), "."))
	if loopback(host) || host != "" && host == strings.ToLower(bound) {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	ip := net.ParseIP(host)
	return ok && ip != nil && ip.Equal(local.IP)
}
