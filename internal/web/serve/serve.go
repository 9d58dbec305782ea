// Package serve shows the results of runs, benchmarks and selection reports in a browser. New takes the folder that
// contains the results, and returns a Server of HTML pages. The server writes nothing, and reads nothing outside the
// folder. The pages have no password, so the server listens on the loopback address by default.
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

// Server serves HTML pages about the results in one folder.
type Server struct {
	dir   string // path of the folder, as passed to New
	root  *os.Root
	now   func() time.Time
	pages map[string]*template.Template

	folders   *lru.Cache[string, folder] // summaries of folders; a key contains the names, sizes and modification times of the folder's files
	overviews *lru.Cache[string, *overview]
	scans     chan struct{} // limits the number of histories that are read concurrently
}

// Limits on the amount of data that is cached, read and shown.
const (
	mostRequests  = 64 // maximum number of concurrent requests
	mostFolders   = 2000
	mostScans     = 2         // maximum number of histories that are read at once
	mostUnmarked  = 2_000_000 // maximum number of lines between two marks of a history (see histories.Line); a reader keeps these lines in memory
	mostFileBytes = 256 << 20 // maximum size of a JSON file in bytes
	mostPageBytes = 64 << 20  // maximum size of a report
	mostNewest    = 6         // number of trials whose verdicts are shown during a run, newest first

	// idleTimeout is the time without a write after which a run counts as stopped. A run writes about twice a second,
	// except while servers start or a long history is judged.
	idleTimeout = time.Minute

	// Limits for the overview of a history.
	buckets      = 96
	mostClients  = 4096
	mostKeys     = 1000
	mostOverlaps = 200
	mostFaults   = 200
	mostParts    = 500 // maximum number of holds in one overlap; a lock that does not exclude can have one overlap for the whole run
	mostJumps    = 24

	// Limits on the part of a history that is drawn and listed on a page.
	narrowest  = time.Microsecond
	mostOps    = 300 // maximum number of operations that are drawn and listed one by one
	mostLanes  = 40
	mostBars   = 4000
	resolution = 450 // a gap between holds of a client is drawn only if it lasts at least 1/resolution of the drawn period
	mostHatch  = 60
	mostBeyond = 20_000 // maximum number of events that are read after the window, to find the ends of operations and holds
)

const harness = "harness" // value of the query parameter "client" for operations of lockbench itself

// New returns a server for the folder with results. The caller must close it.
func New(dir string) (*Server, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, root: root, now: time.Now, scans: make(chan struct{}, mostScans)}
	s.folders, _ = lru.New[string, folder](mostFolders) // no error: the cache size is positive
	s.overviews, _ = lru.New[string, *overview](32)
	if s.pages, err = parsePages(); err != nil {
		root.Close()
		return nil, fmt.Errorf("prepare the pages: %w", err)
	}
	return s, nil
}

// Close closes the folder.
func (s *Server) Close() error { return s.root.Close() }

// Handler returns the HTTP handler of all pages. bound is the host name or address that the server listens on.
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
		s.fail(w, http.StatusNotFound, "There is no such page.", "The list links all pages.")
	})
	return s.guard(bound, mux)
}

// Errors that Listen returns for an address that is not allowed or not valid.
var (
	ErrNotLoopback = errors.New("the address can be reached from other machines, and the pages have no password")
	ErrNoAddress   = errors.New("want host:port, such as 127.0.0.1:7070")
)

// Listen listens on a TCP address. It refuses an address that other machines can reach, unless they are allowed to
// connect (parameter anyone).
func Listen(address string, anyone bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", address, ErrNoAddress)
	}
	if !anyone && !loopback(host) {
		return nil, fmt.Errorf("address %q: %w", address, ErrNotLoopback)
	}
	l, err := net.Listen("tcp", address)
	if err == nil && !anyone && !l.Addr().(*net.TCPAddr).IP.IsLoopback() { // the name was resolved again by Listen, to an address that is not loopback
		return nil, errors.Join(fmt.Errorf("address %q: %w", address, ErrNotLoopback), l.Close())
	}
	return l, err
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Run serves requests until ctx ends. Requests that are being handled then have one second to finish.
func (s *Server) Run(ctx context.Context, l net.Listener, bound string) error {
	server := &http.Server{
		Handler:           s.Handler(bound),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute, // the server may need this long to read a long history
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
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if server.Shutdown(grace) == nil {
		return nil
	}
	return server.Close()
}

// Content security policies. Pages of the server may run their one script and fetch from the server only.
//
// Reports run in a sandbox, because they may come from other people. They may use inline styles and scripts, but
// fetch nothing.
const (
	ownPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	reportPolicy = "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " +
		"img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

// guard refuses requests for another host and all methods except GET and HEAD. It also limits the number of
// concurrent requests.
func (s *Server) guard(bound string, next http.Handler) http.Handler {
	places := make(chan struct{}, mostRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, value := range map[string]string{"Content-Security-Policy": ownPolicy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store"} {
			h.Set(name, value)
		}
		if !ours(r, bound) {
			s.fail(w, http.StatusMisdirectedRequest, "This server does not accept that host name.", "Open the address that lockbench serve printed.")
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			s.fail(w, http.StatusMethodNotAllowed, "Only GET and HEAD requests are accepted.", "")
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

// ours reports whether a request names this server as its host. It accepts loopback names, the address that received
// the request, and the host on which the server listens (parameter bound). A request for another host may be a DNS
// rebinding attack.
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
