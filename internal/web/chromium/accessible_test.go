package chromium

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const soundPage = `<!doctype html><html lang="en"><head><title>A page</title><style>a:focus-visible, button:focus-visible { outline: 2px solid #005 }</style></head><body>
<a href="#main">Skip to the content</a><header><h1>Sound</h1></header><main id="main"><h2>A part</h2>%s</main></body></html>`

// TestBarriers checks that each kind of accessibility barrier is found, and that an accessible page gives no complaints.
func TestBarriers(t *testing.T) {
	ctx := Open(t)
	for _, c := range []struct{ name, html, want string }{
		{"sound", `<p>Text</p><label>Name <input></label><button>Go</button><img alt="A dog" src="data:,"><table><tr><th scope="col">a</th></tr></table>`, ""},
		{"input", `<input placeholder="Name">`, "a control without a name"},
		{"select", `<select><option>a</option></select>`, "a control without a name"},
		{"link", `<a href="/x"><span aria-hidden="true">→</span></a>`, "a control without a name"},
		{"image", `<img src="data:,">`, "a picture without a name"},
		{"drawing", `<svg role="img"><rect width="9" height="9"/></svg>`, "a picture without a name"},
		{"role", `<svg><title>A square</title><rect width="9" height="9"/></svg>`, "a drawing without role=img"},
		{"level", `<h4>Deep</h4>`, "from a heading of level 2 to one of level 4"},
		{"tabindex", `<button tabindex="3">Go</button>`, "changes the focus order"},
		{"label", `<label for="nowhere">Name</label>`, "for refers to the missing id nowhere"},
		{"anchor", `<a href="#nowhere">There</a>`, "a link to the missing id nowhere"},
		{"twice", `<p id="a">a</p><p id="a">b</p>`, "is not unique"},
		{"table", `<table><tr><th>a</th></tr></table>`, "scope"},
		{"colour", `<p>State: <span style="display:inline-block;width:20px;height:20px;background:red"></span></p>`, "by colour alone"},
		{"drawn", `<svg role="img" width="99" height="40"><title>T</title><rect width="99" height="40" style="fill:#226"/><text y="20" style="fill:#447">faint</text></svg>`, "in a drawing"},
		{"focus", `<button style="outline: none">Go</button>`, "the focus is not visible"},
		{"dim", `<button style="outline: 2px solid #eee">Go</button>`, "the focus has a contrast under 3"},
		{"trap", `<button onkeydown="if (event.key == 'Tab') event.preventDefault()">In</button><button>Out</button>`, "not reachable"},
		{"outside", `</main><p>Nowhere</p>`, "outside of all landmarks"},
	} {
		file := filepath.Join(t.TempDir(), "page.html")
		if err := os.WriteFile(file, fmt.Appendf(nil, soundPage, c.html), 0o644); err != nil {
			t.Fatal(err)
		}
		b := Load(t, ctx, file)
		b.Emulate("screen", "light", 1280)
		found := append(b.Complaints("barriers()"), b.walk()...)
		if c.want == "" && len(found) > 0 || c.want != "" && !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("%s: found %q, want %q", c.name, found, c.want)
		}
	}
}

// TestVisit checks that a page may fetch from its own server only.
func TestVisit(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, soundPage, `<img alt="" src="/own.png"><img alt="" src="http://127.0.0.1:9/foreign.png">`)
	}))
	t.Cleanup(server.Close)
	b := Visit(t, Open(t), server.URL+"/page")
	b.Await(`document.readyState == "complete"`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) != 1 || !strings.HasSuffix(b.requests[0], "foreign.png") {
		t.Errorf("foreign requests %q", b.requests)
	}
}
