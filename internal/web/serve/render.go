package serve

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"lockbench/histories"
	"lockbench/reports/format"
)

// page is what every page has.
type page struct {
	Title   string
	Crumbs  []crumb
	Refresh bool // something goes on: look again in a second
	Content any
}

// crumb is a page above this one.
type crumb struct {
	Text string
	Href template.URL
}

func pageNames() []string {
	return []string{"list", "run", "bench", "advice", "compare", "history", "fail"}
}

func parsePages() (map[string]*template.Template, error) {
	pages := map[string]*template.Template{}
	for _, name := range pageNames() {
		t, err := template.New(name).Funcs(funcs()).ParseFS(own, "templates/layout.html.tmpl", "templates/parts.html.tmpl", "templates/"+name+".html.tmpl")
		if err != nil {
			return nil, err
		}
		pages[name] = t
	}
	return pages, nil
}

func funcs() template.FuncMap {
	return template.FuncMap{
		"when": when, "lasting": lasting, "ms": ms, "at": at, "span": span, "plural": plural, "count": format.Count,
		"client": clientName, "inc": func(i int) int { return i + 1 },
		"folder":  func(name string) template.URL { return link("folder", name) },
		"file":    func(name, file string) template.URL { return link("files", name, file) },
		"history": func(name, dir string) template.URL { return link("history", name, dir) },
		"query":   func(v view) template.URL { return template.URL(v.Query()) }, // it was encoded by net/url
		"percent": func(part, of int) int { return 100 * part / max(of, 1) },
		"short":   short,
		"px":      func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) },
		"up":      func(height float64) float64 { return 48 - height }, // the strip is measured from above
		"took":    func(op histories.Op) string { return span(op.Return - op.Call) },
		"move": func(to view, key, id, text string) move {
			return move{To: to, Key: key, ID: id, Text: text}
		},
		"clientword": clientWord, "scored": scored,
	}
}

// move is a way from one view to another, by a link and by a key.
type move struct {
	To            view
	Key, ID, Text string
}

// link is a path of ours: each name is escaped whole, so that none can lead elsewhere.
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
	if c < 0 {
		return harness
	}
	return fmt.Sprint("client ", c)
}

// show writes a page. With ?part=live it is the part that changes, for the script.
func (s *Server) show(w http.ResponseWriter, r *http.Request, name string, p page) {
	what := "page"
	if r.URL.Query().Get("part") == "live" {
		what = "live"
	}
	s.render(w, http.StatusOK, name, what, p)
}

func (s *Server) render(w http.ResponseWriter, status int, name, what string, p page) {
	var b bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&b, what, p); err != nil {
		http.Error(w, "The page could not be made: "+string(harmless([]byte(err.Error()))), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.Refresh {
		w.Header().Set("X-Running", "1")
	}
	w.WriteHeader(status)
	w.Write(harmless(b.Bytes())) // whoever has gone away does not read it
}

// failure is a page that says what is wrong.
type failure struct{ Sentence, Hint string }

func (s *Server) fail(w http.ResponseWriter, status int, sentence, hint string) {
	s.render(w, status, "fail", "page", page{Title: http.StatusText(status), Content: failure{sentence, hint}})
}

// unreadable says that something that ought to be there cannot be read, or that it is not there.
func (s *Server) unreadable(w http.ResponseWriter, what string, err error) {
	if missing(err) {
		s.fail(w, http.StatusNotFound, what+" is not there.", "It may have been removed since the page before was shown.")
		return
	}
	s.fail(w, http.StatusUnprocessableEntity, what+" cannot be read: "+reason(err, s.dir)+".", "")
}

// credentials finds what stands before the @ of an address, also where it was escaped for a link.
var credentials = regexp.MustCompile(`(?i)(:|%3a)(//|%2f%2f)[^\s"'<>]*(@|%40)`)

// harmless is the last look at a page: no password leaves in an address, and nothing turns the direction of what stands
// beside it or hides in it. It stands here and not where the texts come from, so that none is forgotten.
func harmless(html []byte) []byte {
	html = credentials.ReplaceAll(html, []byte("://***@"))
	return bytes.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ' || r >= 0x7f && r < 0xa0, // control
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c, // direction
			r >= 0x200b && r <= 0x200d, r == 0x2028, r == 0x2029, r == 0xfeff: // nothing to be seen
			return '\uFFFD'
		}
		return r
	}, html)
}

// static serves the style and the script.
func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	file := r.PathValue("file")
	text, err := own.ReadFile("static/" + file)
	if err != nil {
		s.unreadable(w, "The file", err)
		return
	}
	switch file {
	case "serve.css":
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		text = append([]byte(s.style), text...)
	case "serve.js":
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	}
	w.Write(text)
}
