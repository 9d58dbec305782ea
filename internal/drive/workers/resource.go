package workers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"lockbench/workloads"
)

// Guarded serves the guarded resource, a register, to worker processes by HTTP on loopback. Each process writes to it
// directly. So a paused process cannot write.
type Guarded struct {
	URL      string // base URL, to which a key is appended
	register atomic.Pointer[workloads.Register]
	server   *http.Server
	done     chan error
}

// Guard starts an HTTP server through which worker processes read and write the guarded resource r. The URL contains a
// secret, so that other programs cannot write to the resource.
func Guard(r *workloads.Register) (*Guarded, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the guarded resource: %w", err)
	}
	base := "/" + rand.Text() + "/"
	g := &Guarded{URL: "http://" + l.Addr().String() + base, done: make(chan error, 1)}
	g.Use(r)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+base+"{key}", using(func(ctx context.Context, key, _ string, fence int64) (string, error) {
		value, err := g.register.Load().Read(ctx, key, fence)
		return strconv.FormatInt(value, 10), err
	}))
	mux.HandleFunc("PUT "+base+"{key}", using(func(ctx context.Context, key, body string, fence int64) (string, error) {
		value, err := strconv.ParseInt(strings.TrimSpace(body), 10, 64)
		if err != nil {
			return "", fmt.Errorf("the body is %q: want a whole number", body)
		}
		return "ok", g.register.Load().Write(ctx, key, value, fence)
	}))
	mux.HandleFunc("POST "+base+"{key}", using(func(ctx context.Context, key, _ string, fence int64) (string, error) {
		return "ok", g.register.Load().Append(ctx, key, fence)
	}))
	g.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { g.done <- g.server.Serve(l) }()
	return g, nil
}

// Use makes r the resource that is served.
func (g *Guarded) Use(r *workloads.Register) { g.register.Store(r) }

// using returns an HTTP handler that calls do. The handler replies with status 409 for a stale fencing token, and with
// 400 for other errors.
func using(do func(ctx context.Context, key, body string, fence int64) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(io.LimitReader(q.Body, 64))
		var fence int64
		if err == nil {
			fence, err = fenceOf(q)
		}
		var text string
		if err == nil {
			text, err = do(q.Context(), q.PathValue("key"), string(body), fence)
		}
		switch {
		case errors.Is(err, workloads.ErrStale):
			http.Error(w, "stale", http.StatusConflict)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		default:
			_, _ = io.WriteString(w, text)
		}
	}
}

func fenceOf(q *http.Request) (int64, error) {
	text := q.URL.Query().Get("fence")
	if text == "" {
		return 0, nil
	}
	fence, err := strconv.ParseInt(text, 10, 64)
	if err != nil || fence < 0 {
		return 0, fmt.Errorf("fence=%q: want a whole number, 0 for none", text)
	}
	return fence, nil
}

// Close stops the server and cancels its pending requests.
func (g *Guarded) Close() error {
	err := g.server.Close()
	if served := <-g.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
