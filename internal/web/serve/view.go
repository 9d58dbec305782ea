package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/reports/format"
)

// view selects a period of a history, and optionally one client and one key. A link contains all fields of the view,
// so that the link always leads to the same view.
type view struct {
	From, To time.Duration
	Client   string // client number, "harness", or "" for all clients
	Key      string // key that the view shows; "": all keys

	until time.Duration // time at which the history ends, measured from its start
}

// parseView parses the query of a request for a history. Times are decimal milliseconds and are limited to the length of
// the history. If the query has no times, parseView uses the default times that the function standard returns.
func parseView(q url.Values, until time.Duration, standard func() (from, to time.Duration)) (view, error) {
	v := view{Client: q.Get("client"), Key: q.Get("key"), until: max(until, narrowest)}
	if v.Client != "" && v.Client != harness {
		n, err := strconv.ParseInt(v.Client, 10, 32)
		if err != nil || n < 0 {
			return v, fmt.Errorf("client %q: want a number, or harness", clip(v.Client))
		}
		v.Client = strconv.FormatInt(n, 10)
	}
	if len(v.Key) > 1<<10 {
		return v, fmt.Errorf("key %q: it is longer than any key", clip(v.Key))
	}
	if q.Get("from") == "" && q.Get("to") == "" {
		v.From, v.To = standard()
		v.fit()
		return v, nil
	}
	v.To = v.until
	for i, name := range []string{"from", "to"} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		at, err := time.ParseDuration(text + "ms") // ParseDuration is exact, unlike the conversion to a floating-point number
		if err != nil || strings.Trim(text, "0123456789.") != "" {
			return v, fmt.Errorf("%s=%q: want milliseconds, such as 12.5", name, clip(text))
		}
		*[]*time.Duration{&v.From, &v.To}[i] = min(at, histories.Forever)
	}
	if v.To <= v.From {
		return v, fmt.Errorf("from %s to %s: the end must lie after the beginning", ms(v.From), ms(v.To))
	}
	v.fit()
	return v, nil
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// ms formats a time in milliseconds, exact to the nanosecond. parseView can parse the result.
func ms(d time.Duration) string {
	return format.TrimZeros(fmt.Sprintf("%d.%06d", d/time.Millisecond, d%time.Millisecond))
}

// formatTime formats a time in milliseconds for display, rounded to the microsecond.
func formatTime(d time.Duration) string { return ms(d.Round(time.Microsecond)) }

// fit moves the view so that it lies within the history, and shortens it if the history is shorter.
func (v *view) fit() {
	width := min(max(v.To-v.From, narrowest), v.until)
	v.From = min(max(v.From, 0), v.until-width)
	v.To = v.From + width
}

// matches reports whether an operation matches the client and the key of the view. Operations without a key, such as
// faults, match every key.
func (v view) matches(client int32, key string) bool {
	return (v.Client == "" || v.Client == clientWord(client)) && (v.Key == "" || key == "" || v.Key == key)
}

func clientWord(client int32) string {
	if client == histories.Harness {
		return harness
	}
	return strconv.Itoa(int(client))
}

// Query returns the view as a URL query. Equal views have equal queries.
func (v view) Query() string {
	q := url.Values{"from": {ms(v.From)}, "to": {ms(v.To)}}
	if v.Client != "" {
		q.Set("client", v.Client)
	}
	if v.Key != "" {
		q.Set("key", v.Key)
	}
	return "?" + q.Encode()
}

// withRange returns a copy of the view with the given start and end. It truncates both times to microseconds if the
// view is at least a millisecond long.
func (v view) withRange(from, to time.Duration) view {
	if to-from >= time.Millisecond {
		from, to = from.Truncate(time.Microsecond), to.Truncate(time.Microsecond)
	}
	v.From, v.To = from, to
	v.fit()
	return v
}

func (v view) half() time.Duration { return (v.To - v.From) / 2 }

// In returns the view zoomed in to its middle half.
func (v view) In() view { return v.withRange(v.From+v.half()/2, v.To-v.half()/2) }

// Out returns the view zoomed out to twice its length.
func (v view) Out() view { return v.withRange(max(0, v.From-v.half()), v.To+v.half()) }

// Left returns the view moved towards the start of the history, by half the length of the view.
func (v view) Left() view { return v.withRange(v.From-v.half(), v.To-v.half()) }

// Right returns the view moved forward by half its length.
func (v view) Right() view { return v.withRange(v.From+v.half(), v.To+v.half()) }

// Home returns the view moved to the start of the history.
func (v view) Home() view { return v.withRange(0, v.To-v.From) }

// End returns the view moved to the end of the history.
func (v view) End() view { v.From, v.To = v.until-(v.To-v.From), v.until; return v }

// All returns a view of the whole history.
func (v view) All() view { v.From, v.To = 0, v.until; return v }

func (v view) around(from, to time.Duration) view {
	from, to = min(max(from, 0), v.until), min(max(to, 0), v.until) // limit the times, because times from a file may be invalid
	margin := max((to-from)/2, time.Millisecond/2)
	return v.withRange(max(0, from-margin), to+margin)
}

// stat returns information about a regular file in the served folder. All files are opened through an os.Root, which follows
// symbolic links within the folder and refuses links that lead out of it. stat refuses pipes, because reading one could
// block.
func (s *Server) stat(name string) (fs.FileInfo, error) {
	info, err := s.root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path.Base(name))
	}
	return info, err
}

func (s *Server) open(name string) (*os.File, fs.FileInfo, error) {
	info, err := s.stat(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := s.root.Open(name)
	return f, info, err
}

func (s *Server) read(name string, into any) error {
	f, info, err := s.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() > mostFileBytes {
		return fmt.Errorf("%s has %d MiB: at most %d are read", path.Base(name), info.Size()>>20, mostFileBytes>>20)
	}
	if err = json.NewDecoder(io.LimitReader(f, mostFileBytes)).Decode(into); err != nil {
		err = fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return err
}

// contained returns an error if a folder contains a symbolic link that leads out of the served folder. It must be called
// before code that reads a whole folder and follows links.
func (s *Server) contained(dir string) error {
	return fs.WalkDir(s.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type().IsRegular() || d.IsDir() {
			return err
		}
		if info, err := s.root.Stat(name); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
			return fmt.Errorf("%s leads out of the served folder, or is not a file", path.Base(name))
		}
		return nil
	})
}

// folderName reports whether name is a valid path of a result folder. The path consists of one or two names.
func folderName(name string) bool {
	return name != "." && fs.ValidPath(name) && strings.Count(name, "/") <= 1 && !strings.Contains(name, `\`)
}

// missing reports whether an error means that a file does not exist or lies outside the served folder.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || strings.Contains(fmt.Sprint(err), "escapes")
}

// folderPath returns the file system path of a result folder. Symbolic links in it may lead out of the served folder.
// Callers must therefore check the result folder first, with Server.stat or Server.contained.
func (s *Server) folderPath(name string) string {
	return filepath.Join(s.dir, filepath.FromSlash(name))
}

// fileType returns the content type of a file. The second result is true if browsers show the file, and false if they
// download it.
func fileType(name string) (kind string, shown bool) {
	switch strings.ToLower(path.Ext(name)) {
	case ".html":
		return "text/html; charset=utf-8", true
	case ".json":
		return "application/json; charset=utf-8", true
	case ".svg":
		return "image/svg+xml", true
	case ".md", ".txt", ".hlog", ".hgrm", ".yaml", ".yml", ".csv", ".log":
		return "text/plain; charset=utf-8", true
	}
	return "application/octet-stream", false
}

// userinfo matches the user and password of a URL in a file.
var userinfo = regexp.MustCompile(`://[^\s"'<>/?#@]*:[^\s"'<>/?#@]*@`)

// file serves a report or a data file of a folder. It removes passwords and control characters from text.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	name, rest, ok := s.pathOf(w, r, "file")
	if !ok {
		return
	}
	name = path.Join(name, rest)
	f, info, err := s.open(name)
	if err != nil {
		s.unreadable(w, "The file", err)
		return
	}
	defer f.Close()
	kind, shown := fileType(name)
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", reportPolicy)
	if !shown || info.Size() > mostPageBytes {
		h.Set("Content-Disposition", "attachment")
		http.ServeContent(w, r, "", info.ModTime(), f)
		return
	}
	text, err := io.ReadAll(io.LimitReader(f, mostPageBytes))
	if err != nil {
		s.unreadable(w, "The file", err)
		return
	}
	w.Write(format.Visible(userinfo.ReplaceAll(text, []byte("://***@"))))
}

// pathOf returns the folder name and the file path in a request. If the folder does not exist, pathOf responds with
// an error and returns false.
func (s *Server) pathOf(w http.ResponseWriter, r *http.Request, what string) (name, rest string, ok bool) {
	name, rest = r.PathValue("name"), path.Clean(r.PathValue("path"))
	if rest != "." && !strings.Contains(rest, `\`) {
		if what = "run, bench, advice or campaign"; s.isFolder(name) {
			return name, rest, true
		}
	}
	s.fail(w, http.StatusNotFound, "There is no such "+what+".", "")
	return "", "", false
}

// stamp returns a cache key for a file. The key changes with the size or the modification time.
func stamp(name string, info fs.FileInfo) string {
	return fmt.Sprint(name, " ", info.Size(), " ", info.ModTime().UnixNano())
}
