package serve

import (
	"net"
	"net/http"
	"strings"
)

// Policies of what a page may do. Ours run the one script and fetch from here alone. Reports are files that may have come
// from anybody: they may style and script themselves, as an origin of their own, and fetch nothing.
const (
	ownPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	reportPolicy = "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " +
		"img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

// mostRequests is how many are answered at once.
const mostRequests = 64

// guard lets through what may be asked: reading, by the name under which we listen, from few at once.
func (s *Server) guard(bound string, next http.Handler) http.Handler {
	places := make(chan struct{}, mostRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", ownPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
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

// ours tells whether the request names this server as somebody would who knows it: by a name or address of loopback, by the
// one it listens on, or by the address that the request came in on. A name that a stranger made lead here is none of them.
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
