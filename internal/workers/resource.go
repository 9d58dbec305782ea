package workers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"lockbench/workloads"
)

// Guarded is what the lock guards, for worker processes: a register behind HTTP on loopback, which each of
// them reaches by itself, so that a process that stands still writes nothing.
type Guarded struct {
	URL    string // the base; a key follows
	server *http.Server
	done   chan error
}

// Guard serves a register. The URL has a secret in it, so that nobody else on this machine writes there.
func Guard(r *workloads.Register) (*Guarded, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve what the lock guards: %w", err)
	}
	base := "/" + rand.Text() + "/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+base+"{key}", func(w http.ResponseWriter, q *http.Request) {
		value, err := r.Read(q.Context(), q.PathValue("key"), fenceOf(q))
		answer(w, strconv.FormatInt(value, 10), err)
	})
	mux.HandleFunc("PUT "+base+"{key}", func(w http.ResponseWriter, q *http.Request) {
		text, err := io.ReadAll(io.LimitReader(q.Body, 64))
		var value int64
		if err == nil {
			value, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		}
		if err == nil {
			err = r.Write(q.Context(), q.PathValue("key"), value, fenceOf(q))
		}
		answer(w, "ok", err)
	})
	mux.HandleFunc("POST "+base+"{key}", func(w http.ResponseWriter, q *http.Request) {
		answer(w, "ok", r.Append(q.Context(), q.PathValue("key"), fenceOf(q)))
	})
	g := &Guarded{URL: "http://" + l.Addr().String() + base, done: make(chan error, 1),
		server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}}
	go func() { g.done <- g.server.Serve(l) }()
	return g, nil
}

// fenceOf is the token of a request; 0 where there is none.
func fenceOf(q *http.Request) int64 {
	fence, _ := strconv.ParseInt(q.URL.Query().Get("fence"), 10, 64)
	return fence
}

func answer(w http.ResponseWriter, text string, err error) {
	switch {
	case errors.Is(err, workloads.ErrStale):
		http.Error(w, "stale", http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		_, _ = io.WriteString(w, text)
	}
}

// Close ends the server; nobody is asked to finish.
func (g *Guarded) Close() error {
	err := g.server.Close()
	if served := <-g.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
