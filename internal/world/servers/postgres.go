package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"lockbench/internal/world/children"
)

const (
	postgresProgram  = "postgres"
	postgresInit     = "initdb"
	postgresDatabase = "postgres"
)

func postgresStore() store {
	return store{
		name: Postgres, product: "postgres", provide: "apt install postgresql",
		durability: "on disk: the write-ahead log, with an fsync before a commit is answered; an advisory lock is in memory, and goes with its session",
		missing: func() error {
			for _, program := range []string{postgresProgram, postgresInit} {
				if _, err := findPostgres(program); err != nil {
					return err
				}
			}
			as, err := unprivileged()
			if err != nil || as == nil {
				return err
			}
			return as.enters(os.TempDir())
		},
		deployments: []deployment{{Single, 1, "", startPostgres}},
	}
}

// findPostgres finds one of its programs: Debian has them in a folder for each version, and not on the PATH.
func findPostgres(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob(filepath.Join("/usr/lib/postgresql/*/bin", program)) // it fails for a bad pattern only
	if len(found) == 0 {
		return "", fmt.Errorf("%s is neither on the PATH nor in /usr/lib/postgresql", program)
	}
	return slices.MaxFunc(found, func(a, b string) int { return debianVersion(a) - debianVersion(b) }), nil
}

// debianVersion is the N of /usr/lib/postgresql/N/bin/program.
func debianVersion(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// account is a user of this machine.
type account struct{ uid, gid int }

// unprivileged is whom the server runs as, since it refuses to be root; nil: as who runs us.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		gid, errGroup := strconv.Atoi(u.Gid)
		if errors.Join(err, errGroup) == nil {
			return &account{uid, gid}, nil
		}
	}
	return nil, errors.New("it does not run as root, and there is neither a user postgres nor a user nobody")
}

// enters says why an account cannot enter a folder that servers have theirs in.
func (a *account) enters(dir string) error {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("it does not run as root, and nobody else may enter %s: set TMPDIR to a folder that everybody may", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// postgresCommand is one of its programs, run as a user that may. Nothing of the environment is for it.
func postgresCommand(program string, args ...string) (*exec.Cmd, error) {
	path, err := findPostgres(program)
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
		as.runs(cmd)
	}
	return cmd, nil
}

// handOver makes a folder, and all that is in it, the server's own.
func handOver(dir string) error {
	as, err := unprivileged()
	if err != nil || as == nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, as.uid, as.gid)
	})
}

// postgresTemplate is a cluster with the extension that counts statements. Its segments of the log are small, since
// each copy has one. It is not synced: what is measured is what comes after.
var postgresTemplate = newTemplate(func(ctx context.Context, k *children.Keeper, dir string) error {
	if err := handOver(dir); err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	for _, step := range []struct {
		program, input string
		args           []string
	}{
		{postgresInit, "", []string{"-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "--no-locale", "-E", "UTF8", "--wal-segsize=1"}},
		{postgresProgram, "CREATE EXTENSION pg_stat_statements", []string{"--single", "-D", data, postgresDatabase}},
	} {
		cmd, err := postgresCommand(step.program, step.args...)
		if err != nil {
			return err
		}
		cmd.Stdin = strings.NewReader(step.input)
		if err := runToEnd(ctx, k, dir, cmd); err != nil {
			return err
		}
	}
	return nil
})

// postgresNode is a PostgreSQL server of our own. It is anybody's on loopback: it trusts whoever connects.
type postgresNode struct{ *local }

var _ Node = (*postgresNode)(nil)

func startPostgres(ctx context.Context, l launcher, g *Group, _ int) error {
	n, err := start(ctx, l, 1, databaseWithin, func(n *local) (*postgresNode, product) {
		p := &postgresNode{n}
		return p, p
	})
	if err == nil {
		g.add(n, "postgres", n.version)
	}
	return err
}

func (n *postgresNode) data() string { return filepath.Join(n.dir, "made", "data") }

func (n *postgresNode) prepare(ctx context.Context) error {
	if err := postgresTemplate.copyTo(ctx, filepath.Join(n.dir, "made")); err != nil {
		return err
	}
	if err := os.Chmod(n.data(), 0o700); err != nil { // it refuses a folder that others can look into
		return err
	}
	return handOver(n.dir)
}

func (n *postgresNode) command() (*exec.Cmd, error) {
	return postgresCommand(postgresProgram, "-D", n.data(), "-p", strconv.Itoa(n.ports[0]), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "shared_preload_libraries=pg_stat_statements", "-c", "max_connections=300",
		"-c", "shared_buffers=16MB")
}

func (n *postgresNode) URL() string {
	return "postgres://postgres@" + n.addr() + "/" + postgresDatabase
}

// query asks on a connection of its own.
func (n *postgresNode) query(ctx context.Context, do func(context.Context, *pgx.Conn) error) error {
	c, err := pgx.ParseConfig("host=127.0.0.1 sslmode=disable")
	if err != nil {
		return err
	}
	c.Port, c.User, c.Password, c.Database = uint16(n.ports[0]), "postgres", "", postgresDatabase
	c.TLSConfig, c.Fallbacks, c.RuntimeParams = nil, nil, map[string]string{}
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return do(ctx, conn)
}

// ask knows its server by its folder, which no other has. The memory that tells a second server of one folder that the
// first still runs is marked to go with the processes that have it: nothing else would remove it after a crash.
func (n *postgresNode) ask(ctx context.Context) (version string, err error) {
	err = n.query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var dir string
		err := conn.QueryRow(ctx, "SELECT current_setting('data_directory'), split_part(current_setting('server_version'), ' ', 1)").Scan(&dir, &version)
		switch {
		case err != nil:
			return err
		case filepath.Clean(dir) != n.data():
			return errors.New("another server answers")
		}
		return n.markMemory()
	})
	return version, err
}

// markMemory reads the number of the segment from the seventh line of the server's own file.
func (n *postgresNode) markMemory() error {
	text, err := os.ReadFile(filepath.Join(n.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 8 {
		return errors.New("it has not said yet which memory it has")
	}
	var key, id int
	if _, err := fmt.Sscan(lines[6], &key, &id); err != nil {
		return fmt.Errorf("which memory it has: %w", err)
	}
	return goWithProcesses(id)
}

// counters are the statements that the server has executed, by what they call ("calls.pg_advisory_lock"). One that
// ended with an error is not counted, as one that waited for a lock for too long.
func (n *postgresNode) counters(ctx context.Context) (map[string]float64, error) {
	all := map[string]float64{}
	return all, n.query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
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

// unseat ends the session that holds the advisory lock of a key, and returns when it is gone.
func (n *postgresNode) unseat(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, unseatWithin)
	defer cancel()
	return n.query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var holder int32
		err := conn.QueryRow(ctx, `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
			AND (classid::bigint << 32) | objid::bigint = hashtextextended($1, 0)`, key).Scan(&holder)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return errors.New("nobody was seen to hold it")
		case err != nil:
			return err
		}
		if _, err := conn.Exec(ctx, "SELECT pg_terminate_backend($1)", holder); err != nil {
			return err
		}
		return n.await(ctx, "end a session", func(ctx context.Context) bool {
			var left int
			err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", holder).Scan(&left)
			return err == nil && left == 0
		})
	})
}
