package shop

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
)

// Gate is an nginx process that forwards orders to the shop's services. After the sell-out it refuses orders itself.
type Gate struct {
	URL   string
	child *children.Child
}

//go:embed gate.conf.tmpl
var gateConf string

//go:embed gate.lua.tmpl
var gateLua string

const (
	luaFolder    = "/usr/share/lua/5.1"
	portAttempts = 5
	pollInterval = 5 * time.Millisecond
)

// ErrNoGate is returned if nginx or a required module is missing. The error text says what to install.
var ErrNoGate = errors.New("apt install nginx-light libnginx-mod-http-lua lua-nginx-redis")

type nginx struct{ program, modules string }

func findNginx() (n nginx, err error) {
	if n.program, err = exec.LookPath("nginx"); err != nil {
		if n.program, err = exec.LookPath("/usr/sbin/nginx"); err != nil { // /usr/sbin is often not on the PATH
			return n, fmt.Errorf("the gate needs nginx: %w", ErrNoGate)
		}
	}
	for _, n.modules = range []string{"/usr/lib/nginx/modules", "/usr/share/nginx/modules"} {
		if missing(n.modules+"/ndk_http_module.so", n.modules+"/ngx_http_lua_module.so") == "" {
			if file := missing(luaFolder+"/nginx/redis.lua", luaFolder+"/resty/core.lua"); file != "" {
				return n, fmt.Errorf("the gate needs %s: %w", file, ErrNoGate)
			}
			return n, nil
		}
	}
	return n, fmt.Errorf("the gate needs nginx's Lua module: %w", ErrNoGate)
}

func missing(files ...string) string {
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			return f
		}
	}
	return ""
}

// GateSupported returns an error if this machine cannot run a Gate.
func GateSupported() error {
	_, err := findNginx()
	return err
}

type gateSettings struct {
	Dir, Modules, Lua    string
	Services             []string // addresses as host:port
	StockHost, StockPort string
	Keys                 string // Redis keys of the stock, formatted as Lua arguments
	Port                 int
}

// StartGate starts nginx as a gate in front of the shop services, and returns when nginx answers. The gate rejects orders
// after the sell-out. StartGate writes nginx's files to dir. The keeper k kills nginx when lockbench ends. The parameter stock
// is the URL of the Redis server that holds the stock under the given keys.
func StartGate(ctx context.Context, k *children.Keeper, dir string, services []*Process, stock string, keys []string) (*Gate, error) {
	n, err := findNginx()
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(stock)
	if err != nil {
		return nil, errors.New("invalid URL of the stock's Redis")
	}
	s := gateSettings{Dir: dir, Modules: n.modules, Lua: luaFolder, StockHost: at.Hostname(), StockPort: at.Port()}
	for _, p := range services {
		s.Services = append(s.Services, strings.TrimPrefix(p.URL, "http://"))
	}
	var quoted []string
	for _, key := range keys {
		quoted = append(quoted, strconv.Quote(key))
	}
	s.Keys = strings.Join(quoted, ", ")
	for attempt := 1; ; attempt++ {
		g, err := s.start(ctx, k, n.program)
		if err == nil {
			return g, nil
		}
		if !strings.Contains(err.Error(), "Address already in use") || attempt == portAttempts {
			return nil, fmt.Errorf("start the gate: %w", err)
		}
	}
}

// start starts nginx on a free port. lockbench picks the port, because nginx cannot.
func (s gateSettings) start(ctx context.Context, k *children.Keeper, program string) (*Gate, error) {
	var err error
	if s.Port, err = servers.FreePort(); err != nil {
		return nil, err
	}
	if err := errors.Join(s.write("nginx.conf", gateConf), s.write("gate.lua", gateLua)); err != nil {
		return nil, err
	}
	var log children.Tail
	cmd := exec.Command(program, "-p", s.Dir, "-e", "stderr", "-c", filepath.Join(s.Dir, "nginx.conf"))
	cmd.Stdout, cmd.Stderr = &log, &log
	g := &Gate{URL: fmt.Sprintf("http://127.0.0.1:%d", s.Port)}
	if g.child, err = k.Start(cmd); err != nil {
		return nil, err
	}
	if err := g.await(ctx); err != nil {
		ended := g.Close()
		return nil, errors.Join(fmt.Errorf("%w%s", err, &log), ended)
	}
	return g, nil
}

func (s gateSettings) write(name, text string) error {
	t, err := template.New(name).Parse(text)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, s); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.Dir, name), b.Bytes(), 0o600)
}

func (g *Gate) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := servers.Poll(ctx, pollInterval, func(ctx context.Context) error {
		_, err := ask[Answer](ctx, http.DefaultClient, http.MethodGet, g.URL+clockPath)
		if err != nil && g.child.Ended() {
			return servers.Final(fmt.Errorf("it exited (%s)", g.child.State()))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for nginx to answer: %w", err)
	}
	return nil
}

// Close kills the nginx process that forwards orders to the shop's services.
func (g *Gate) Close() error { return g.child.Kill() }
