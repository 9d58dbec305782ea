package serve

import (
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/reports/format"
	"lockbench/reports/html"
	"lockbench/reports/run"
)

type page struct {
	Title   string
	Folder  string // name of the folder that the page shows
	Refresh bool   // whether the page updates every second
	Content any
}

func parsePages() (map[string]*template.Template, error) {
	pages := map[string]*template.Template{}
	for _, name := range []string{"list", "folder", "compare", "history", "fail"} {
		t, err := html.Parse(own, funcs(), "templates/page.html.tmpl", "templates/"+name+".html.tmpl")
		if err != nil {
			return nil, err
		}
		pages[name] = t
	}
	return pages, nil
}

func funcs() template.FuncMap {
	return template.FuncMap{
		"lasting": format.Lasting, "exclusionkeys": run.ExclusionKeys, "millis": ms, "at": formatTime, "span": span, "client": clientName, "clientword": clientWord,
		"folder":  func(name string) template.URL { return link("folder", name) },
		"file":    func(name, file string) template.URL { return link("files", name, file) },
		"history": func(name, dir string) template.URL { return link("history", name, dir) },
		"share":   func(part, of int) int { return 100 * part / max(of, 1) },
		"up":      func(height float64) float64 { return 48 - height }, // y coordinate of the top of a bar in the overview chart
		"took":    func(op histories.Op) string { return span(op.Return - op.Call) },
		"move":    func(to view, key, id, text string) move { return move{to, key, id, text} },
	}
}

func span(d time.Duration) string { return format.Duration(float64(d)) }

type move struct {
	To            view
	Key, ID, Text string
}

// link returns the path of a page of this server. It escapes every name, so that a name with special characters
// cannot lead to another page.
func link(room, name string, more ...string) template.URL {
	path := "/" + room + "/" + url.PathEscape(name)
	for _, part := range strings.Split(strings.Join(more, "/"), "/") {
		if part != "" {
			path += "/" + url.PathEscape(part)
		}
	}
	return template.URL(path)
}

func clientName(c int32) string {
	if c == histories.Harness {
		return harness
	}
	return "client " + clientWord(c)
}

// show writes a page. With ?part=live it writes only the part that the script updates.
func (s *Server) show(w http.ResponseWriter, r *http.Request, name string, p page) {
	what := "page"
	if r.URL.Query().Get("part") == "live" {
		what = "live"
	}
	s.render(w, http.StatusOK, name, what, p)
}

func (s *Server) render(w http.ResponseWriter, status int, name, what string, p page) {
	text, err := html.Render(s.pages[name], what, p)
	if err != nil {
		http.Error(w, "The page could not be rendered: "+string(harmless([]byte(err.Error()))), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.Refresh {
		w.Header().Set("X-Running", "1")
	}
	w.WriteHeader(status)
	w.Write(harmless(text)) // an error means that the browser has closed the connection
}

type failure struct{ Sentence, Hint string }

func (s *Server) fail(w http.ResponseWriter, status int, sentence, hint string) {
	s.render(w, status, "fail", "page", page{Title: http.StatusText(status), Content: failure{sentence, hint}})
}

// unreadable responds with an error page for data that does not exist or cannot be read.
func (s *Server) unreadable(w http.ResponseWriter, what string, err error) {
	if missing(err) {
		s.fail(w, http.StatusNotFound, what+" does not exist.", "It may have been removed.")
		return
	}
	s.fail(w, http.StatusUnprocessableEntity, what+" cannot be read: "+reason(err, s.dir)+".", "")
}

// credentials matches the user and password of a URL, escaped for HTML or not.
var credentials = regexp.MustCompile(`(?i)(:|%3a)(//|%2f%2f)[^\s"'<>]*(@|%40)`)

// harmless removes control characters, and replaces passwords in URLs by ***. It is applied to the whole page, so
// that no text is missed.
func harmless(text []byte) []byte {
	return format.Visible(credentials.ReplaceAll(text, []byte("://***@")))
}

func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	switch r.PathValue("file") {
	case "serve.css":
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		io.WriteString(w, string(html.Style()))
	case "serve.js":
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		w.Write(script)
	default:
		s.unreadable(w, "The file", fs.ErrNotExist)
	}
}
