package builtin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// leases keeps the Lease objects of a stand-in for the API server of Kubernetes. Every change gets the next resource
// version, and is on disk before it is acknowledged. Like an API server, it never ends a lease: the clients do.
type leases struct {
	mu      sync.Mutex
	objects map[string]lease // by namespace/name
	version int64            // resource version of the last change
	calls   map[string]int64 // number of requests by verb
	journal *os.File         // every change, as a line of JSON
}

// lease is a Lease object of coordination.k8s.io/v1. The spec is kept as the client wrote it.
type lease struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   metadata       `json:"metadata"`
	Spec       map[string]any `json:"spec"`
}

type metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	UID         string            `json:"uid"`
	Version     string            `json:"resourceVersion"`
	Created     time.Time         `json:"creationTimestamp"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// refusal is an error with the status code and the reason that an API server answers.
type refusal struct {
	code   int
	reason string
	detail string
}

func (r *refusal) Error() string { return r.detail }

var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// openLeases reads the journal in a file, which is created if it does not exist. It removes a last line that a crash has
// left incomplete, because its change was never acknowledged.
func openLeases(file string) (*leases, error) {
	journal, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	s := &leases{objects: map[string]lease{}, calls: map[string]int64{}, journal: journal}
	var complete int64
	for in := bufio.NewReader(journal); ; {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		var l lease
		if err == nil {
			err = json.Unmarshal(line, &l)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read the journal: %w", err), journal.Close())
		}
		s.keep(l)
		complete += int64(len(line))
	}
	_, err = journal.Seek(complete, io.SeekStart)
	return s, errors.Join(journal.Truncate(complete), err)
}

func (s *leases) keep(l lease) {
	s.objects[l.Metadata.Namespace+"/"+l.Metadata.Name] = l
	s.version, _ = strconv.ParseInt(l.Metadata.Version, 10, 64)
}

// write stores an object with the next resource version.
func (s *leases) write(l lease) (lease, error) {
	l.APIVersion, l.Kind, l.Metadata.Version = "coordination.k8s.io/v1", "Lease", strconv.FormatInt(s.version+1, 10)
	line, err := json.Marshal(l)
	if err != nil {
		return l, err
	}
	if _, err := s.journal.Write(append(line, '\n')); err != nil {
		return l, err
	}
	if err := s.journal.Sync(); err != nil {
		return l, err
	}
	s.keep(l)
	return l, nil
}

func (s *leases) get(namespace, name string) (lease, error) {
	l, exists := s.objects[namespace+"/"+name]
	if !exists {
		return l, &refusal{http.StatusNotFound, "NotFound", fmt.Sprintf("leases.coordination.k8s.io %q not found", name)}
	}
	return l, nil
}

func (s *leases) create(namespace string, l lease) (lease, error) {
	switch _, exists := s.objects[namespace+"/"+l.Metadata.Name]; {
	case exists:
		return l, &refusal{http.StatusConflict, "AlreadyExists", fmt.Sprintf("leases.coordination.k8s.io %q already exists", l.Metadata.Name)}
	case !validName.MatchString(l.Metadata.Name):
		return l, invalid(l, "metadata.name: want lower-case letters, digits, hyphens and dots")
	case l.Metadata.Version != "":
		return l, &refusal{http.StatusBadRequest, "BadRequest", "resourceVersion should not be set on objects to be created"}
	}
	l.Metadata.Namespace, l.Metadata.Created = namespace, time.Now().UTC().Truncate(time.Second)
	l.Metadata.UID = fmt.Sprintf("00000000-0000-4000-8000-%012x", s.version+1)
	if err := checkSpec(l); err != nil {
		return l, err
	}
	return s.write(l)
}

// update replaces an object if it still has the resource version that the client has read.
func (s *leases) update(namespace, name string, l lease) (lease, error) {
	old, err := s.get(namespace, name)
	switch {
	case err != nil:
		return l, err
	case l.Metadata.Name != name:
		return l, &refusal{http.StatusBadRequest, "BadRequest", "the name of the object does not match the name on the URL"}
	case l.Metadata.Version == "":
		return l, invalid(l, "metadata.resourceVersion: must be specified for an update")
	case l.Metadata.Version != old.Metadata.Version:
		return l, &refusal{http.StatusConflict, "Conflict", fmt.Sprintf("Operation cannot be fulfilled on leases.coordination.k8s.io %q: "+
			"the object has been modified; please apply your changes to the latest version and try again", name)}
	}
	l.Metadata.Namespace, l.Metadata.UID, l.Metadata.Created = namespace, old.Metadata.UID, old.Metadata.Created
	if err := checkSpec(l); err != nil {
		return l, err
	}
	return s.write(l)
}

func checkSpec(l lease) error {
	if seconds, set := l.Spec["leaseDurationSeconds"].(float64); set && seconds <= 0 {
		return invalid(l, "spec.leaseDurationSeconds: must be greater than 0")
	}
	return nil
}

func invalid(l lease, detail string) error {
	return &refusal{http.StatusUnprocessableEntity, "Invalid", fmt.Sprintf("Lease.coordination.k8s.io %q is invalid: %s", l.Metadata.Name, detail)}
}

const (
	leasesPath = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
	maxLease   = 1 << 20
)

// handler answers requests for leases as an API server does, in JSON, and GET /lockbench with the number of requests.
func (s *leases) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+leasesPath+"/{name}", s.answer(http.StatusOK, func(r *http.Request, _ lease) (lease, error) {
		return s.get(r.PathValue("namespace"), r.PathValue("name"))
	}))
	mux.HandleFunc("POST "+leasesPath, s.answer(http.StatusCreated, func(r *http.Request, l lease) (lease, error) {
		return s.create(r.PathValue("namespace"), l)
	}))
	mux.HandleFunc("PUT "+leasesPath+"/{name}", s.answer(http.StatusOK, func(r *http.Request, l lease) (lease, error) {
		return s.update(r.PathValue("namespace"), r.PathValue("name"), l)
	}))
	mux.HandleFunc("GET /lockbench", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		reply(w, http.StatusOK, map[string]any{"pid": os.Getpid(), "calls": s.calls})
	})
	return mux
}

func (s *leases) answer(code int, do func(*http.Request, lease) (lease, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var l lease
		if r.Method != http.MethodGet {
			body, err := io.ReadAll(io.LimitReader(r.Body, maxLease))
			if err != nil {
				return // the client is gone
			}
			if err := json.NewDecoder(bytes.NewReader(body)).Decode(&l); err != nil {
				refuse(w, &refusal{http.StatusUnsupportedMediaType, "UnsupportedMediaType", "want an object in JSON: " + err.Error()})
				return
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls[r.Method]++
		l, err := do(r, l)
		if err != nil {
			refuse(w, err)
			return
		}
		reply(w, code, l)
	}
}

// refuse answers with a Status object, from which clients make their error.
func refuse(w http.ResponseWriter, err error) {
	r := &refusal{http.StatusInternalServerError, "InternalError", err.Error()}
	errors.As(err, &r)
	reply(w, r.code, map[string]any{"apiVersion": "v1", "kind": "Status", "metadata": map[string]any{}, "status": "Failure",
		"reason": r.reason, "message": r.detail, "code": r.code})
}

func reply(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value) // an error means that the client is gone
}
