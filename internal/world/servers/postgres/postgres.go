// Package postgres describes how to run PostgreSQL, and how to use a user's PostgreSQL.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
)

const (
	program  = "postgres"
	initdb   = "initdb"
	database = "postgres"
	owner    = "postgres" // database user that owns the database; it has no password
)

// Store returns the description of PostgreSQL. Servers that lockbench starts accept every user without a password. They
// listen only on loopback.
func Store() servers.Store {
	return servers.Store{
		Name: servers.Postgres, Product: "postgres", Provide: "apt install postgresql",
		Durability:   "on disk: the write-ahead log, with an fsync before a commit is answered; advisory locks are in memory, and end with their session",
		Missing:      missing,
		Deployments:  []servers.Deployment{{Name: servers.Single, Nodes: 1, Contained: true}},
		StartTimeout: servers.DatabaseStartTimeout, RestartTime: time.Second,
		Prepare: prepare, Command: command, Ask: ask,
		URL:      func(addr string) string { return "postgres://" + owner + "@" + addr + "/" + database },
		Counters: counters, EndSession: endSession,
		Image: servers.Image{Name: "postgres:15.14", Port: "5432", Variable: "LOCKBENCH_POSTGRES_IMAGE",
			Environ: map[string]string{"POSTGRES_HOST_AUTH_METHOD": "trust", "POSTGRES_DB": database},
			Command: []string{program, "-c", "shared_preload_libraries=pg_stat_statements", "-c", "max_connections=300"},
			// Ready creates the extension that counts SQL statements.
			Ready: func(ctx context.Context, addr string) error {
				return query(ctx, addr, func(ctx context.Context, conn *pgx.Conn) error {
					_, err := conn.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
					return err
				})
			}},
		External: access(),
	}
}

func missing() error {
	for _, p := range []string{program, initdb} {
		if _, err := find(p); err != nil {
			return err
		}
	}
	as, err := unprivileged()
	if err != nil || as == nil {
		return err
	}
	return as.enters(os.TempDir())
}

// find returns the path of a program of PostgreSQL. On Debian, the programs of each version have a folder that is not on
// the PATH.
func find(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob(filepath.Join("/usr/lib/postgresql/*/bin", program)) // Glob fails only for an invalid pattern
	if len(found) == 0 {
		return "", fmt.Errorf("%s is not on the PATH or in /usr/lib/postgresql", program)
	}
	return slices.MaxFunc(found, func(a, b string) int { return debianVersion(a) - debianVersion(b) }), nil
}

func debianVersion(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// commandOf returns a command for a program of PostgreSQL. The command has a fixed environment and never runs as root.
func commandOf(program string, args ...string) (*exec.Cmd, error) {
	path, err := find(program)
	if err != nil {
		return nil, err
	}
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if as != nil {
		as.setCredential(cmd)
	}
	return cmd, nil
}

// template is an empty database with the extension pg_stat_statements. Its log segments are small, because every server
// gets a copy. It is not synced to disk, because no server runs on the template itself.
var template = servers.NewTemplate(func(ctx context.Context, k *children.Keeper, dir string) error {
	if err := handOver(dir); err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	for _, step := range []struct {
		program, input string
		args           []string
	}{
		{initdb, "", []string{"-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "--no-locale", "-E", "UTF8", "--wal-segsize=1"}},
		{program, "CREATE EXTENSION pg_stat_statements", []string{"--single", "-D", data, database}},
	} {
		cmd, err := commandOf(step.program, step.args...)
		if err != nil {
			return err
		}
		cmd.Stdin = strings.NewReader(step.input)
		if err := servers.RunTool(ctx, k, dir, cmd); err != nil {
			return err
		}
	}
	return nil
})

func dataOf(p *servers.Process) string { return filepath.Join(p.Dir, "made", "data") }

func prepare(ctx context.Context, p *servers.Process) error {
	if err := template.CopyTo(ctx, filepath.Join(p.Dir, "made")); err != nil {
		return err
	}
	if err := os.Chmod(dataOf(p), 0o700); err != nil { // the server refuses to start if other users can read the folder
		return err
	}
	return handOver(p.Dir)
}

func command(p *servers.Process) (*exec.Cmd, error) {
	return commandOf(program, "-D", dataOf(p), "-p", strconv.Itoa(p.Ports[0]), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "shared_preload_libraries=pg_stat_statements", "-c", "max_connections=300",
		"-c", "shared_buffers=16MB")
}

// connect opens a connection. It ignores PGHOST and similar environment variables, which pgx uses by default.
func connect(ctx context.Context, addr, name, user, password string, timeout time.Duration) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig("host=localhost sslmode=disable")
	if err != nil { // do not wrap err, because its text may contain environment variables
		return nil, errors.New("connect: invalid PostgreSQL settings in the environment (PGHOST, ...)")
	}
	host, number, err := net.SplitHostPort(addr)
	port, errPort := strconv.ParseUint(number, 10, 16)
	if err := errors.Join(err, errPort); err != nil {
		return nil, err
	}
	c.Host, c.Port, c.Database, c.User, c.Password = host, uint16(port), name, user, password
	c.TLSConfig, c.Fallbacks, c.RuntimeParams = nil, nil, map[string]string{}
	c.ConnectTimeout, c.DefaultQueryExecMode = timeout, pgx.QueryExecModeExec
	return pgx.ConnectConfig(ctx, c)
}

func query(ctx context.Context, addr string, do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, servers.AskTimeout)
	defer cancel()
	conn, err := connect(ctx, addr, database, owner, "", servers.AskTimeout)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return do(ctx, conn)
}

// ask returns the version of the server. It returns an error if the server is not the child process p. It also marks the
// server's shared memory for removal, so that no memory remains in use after a crash.
func ask(ctx context.Context, p *servers.Process) (version string, err error) {
	err = query(ctx, p.Addr(), func(ctx context.Context, conn *pgx.Conn) error {
		var dir string
		err := conn.QueryRow(ctx, "SELECT current_setting('data_directory'), split_part(current_setting('server_version'), ' ', 1)").Scan(&dir, &version)
		switch {
		case err != nil:
			return err
		case filepath.Clean(dir) != dataOf(p):
			return servers.ErrOtherServer
		}
		return markMemory(dataOf(p))
	})
	return version, err
}

// markMemory marks the server's shared memory segment for removal. The ID of the segment is in line 7 of postmaster.pid.
func markMemory(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 8 {
		return errors.New("postmaster.pid is incomplete")
	}
	var key, id int
	if _, err := fmt.Sscan(lines[6], &key, &id); err != nil {
		return fmt.Errorf("parse postmaster.pid: %w", err)
	}
	return removeWithProcesses(id)
}

// counters returns the number of successful statements. Calls of advisory lock functions are counted by function, such
// as "calls.pg_advisory_lock". All other statements are counted by kind. Statements that timed out waiting for a lock
// are not counted, because they failed.
func counters(ctx context.Context, addr string) (map[string]float64, error) {
	all := map[string]float64{}
	return all, query(ctx, addr, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT coalesce(substring(query from 'pg_[a-z_]*advisory[a-z_]*'), 'sql_' || lower(split_part(query, ' ', 1))), sum(calls)::float8
			FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%' AND query NOT LIKE '%current_setting%' GROUP BY 1`)
		if err != nil {
			return err
		}
		var name string
		var calls float64
		_, err = pgx.ForEachRow(rows, []any{&name, &calls}, func() error {
			all["calls."+name] = calls
			return nil
		})
		return err
	})
}

// selectSession selects the session that holds an advisory lock, or the waiting session whose wait began last.
const selectSession = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted = $2
	AND (classid::bigint << 32) | objid::bigint = hashtextextended($1, 0) ORDER BY waitstart DESC LIMIT 1`

// endSession terminates the session that holds the advisory lock of the key, or the last session that waits for it. It
// returns when the session has ended.
func endSession(ctx context.Context, addr, key string, of servers.Role) error {
	ctx, cancel := context.WithTimeout(ctx, servers.EndSessionTimeout)
	defer cancel()
	return query(ctx, addr, func(ctx context.Context, conn *pgx.Conn) error {
		session := func(granted bool, none error) (pid int32, err error) {
			if err = conn.QueryRow(ctx, selectSession, key, granted).Scan(&pid); errors.Is(err, pgx.ErrNoRows) {
				err = none
			}
			return pid, err
		}
		holder, err := session(true, servers.ErrNoHolder)
		ended := holder
		if err == nil && of == servers.LastWaiter {
			ended, err = session(false, servers.ErrNoWaiter)
		}
		if err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "SELECT pg_terminate_backend($1)", ended); err != nil {
			return err
		}
		err = servers.AwaitGone(ctx, func(ctx context.Context, left *int) error {
			return conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", ended).Scan(left)
		})
		if err != nil || of == servers.Holder {
			return err
		}
		if later, err := session(true, servers.ErrHolderChanged); err != nil || later != holder {
			return cmp.Or(err, servers.ErrHolderChanged)
		}
		return nil
	})
}

// access returns the address format of a user's PostgreSQL server, and functions to inspect and clean it. Access.Names
// returns no names, because advisory locks store no data.
func access() *servers.Access {
	return &servers.Access{
		Form: servers.Form{Example: "postgres://user@host:5432/database", Port: "5432", Secret: true,
			Database: regexp.MustCompile(`^[^/]+$`), Ignored: "sslmode=disable",
			Rewrite: func(text string) (string, error) {
				return strings.Replace(text, "postgresql://", "postgres://", 1), nil
			}},
		Version: func(ctx context.Context, t servers.Target, host string) (version string, err error) {
			conn, err := connect(ctx, host, t.Database(), t.User(), t.Password(), servers.ReachTimeout)
			if err != nil {
				return "", err
			}
			defer conn.Close(ctx)
			return version, conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
		},
		Names:  func(context.Context, servers.Target, string) ([]string, error) { return nil, nil },
		Remove: func(context.Context, servers.Target, string) error { return nil },
	}
}
