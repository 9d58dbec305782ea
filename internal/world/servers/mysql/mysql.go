// Package mysql describes how to run MariaDB, and how to use a user's MySQL or MariaDB.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
)

const (
	program  = "mariadbd"
	install  = "mariadb-install-db"
	database = "lockbench"
)

// Store returns the description of MariaDB. Servers that lockbench starts accept the user root without a password. They
// listen only on loopback.
func Store() servers.Store {
	return servers.Store{
		Name: servers.MySQL, Product: "mariadb", Provide: "apt install mariadb-server",
		Durability: "on disk: InnoDB's log, with an fsync before a commit is answered; GET_LOCK's locks are in memory, and end with their session",
		Missing: func() error {
			_, err := exec.LookPath(program)
			_, errInstall := exec.LookPath(install)
			return errors.Join(err, errInstall)
		},
		Deployments:  []servers.Deployment{{Name: servers.Single, Nodes: 1, Contained: true}},
		StartTimeout: servers.DatabaseStartTimeout, RestartTime: 600 * time.Millisecond,
		Prepare: func(ctx context.Context, p *servers.Process) error {
			return template.CopyTo(ctx, filepath.Join(p.Dir, "made"))
		},
		Command: command, Ask: ask,
		URL:      func(addr string) string { return "mysql://root@" + addr + "/" + database },
		Counters: counters, EndSession: endSession,
		Image: servers.Image{Name: "mariadb:10.11.14", Port: "3306", Variable: "LOCKBENCH_MYSQL_IMAGE",
			Command: []string{program, "--max-connections=1000"},
			Environ: map[string]string{"MARIADB_ALLOW_EMPTY_ROOT_PASSWORD": "1", "MARIADB_DATABASE": database}},
		External: access(),
	}
}

var template = servers.NewTemplate(func(ctx context.Context, k *children.Keeper, dir string) error {
	setup := filepath.Join(dir, "setup.sql")
	if err := os.WriteFile(setup, []byte("CREATE DATABASE "+database+";\n"), 0o600); err != nil {
		return err
	}
	return servers.RunTool(ctx, k, dir, exec.Command(install, append(commonOptions(dir), "--auth-root-authentication-method=normal",
		"--skip-test-db", "--extra-file="+setup)...))
})

// commonOptions returns the options of the installation and of the server. Each has its own folder for temporary files, because a server
// removes those of others when it starts.
func commonOptions(dir string) []string {
	options := []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--tmpdir=" + dir, "--innodb-log-file-size=4M"}
	if os.Geteuid() == 0 {
		options = append(options, "--user=root") // the server refuses to run as root without this option
	}
	return options
}

func command(p *servers.Process) (*exec.Cmd, error) {
	return exec.Command(program, append(commonOptions(filepath.Join(p.Dir, "made")),
		"--port="+strconv.Itoa(p.Ports[0]), "--bind-address=127.0.0.1", "--socket="+filepath.Join(p.Dir, "socket"),
		"--pid-file="+filepath.Join(p.Dir, "pid"), "--skip-name-resolve", "--skip-networking=0",
		"--innodb-buffer-pool-size=32M", "--max-connections=1000")...), nil
}

func open(user, password, addr, name string, timeout time.Duration) (*sql.DB, error) {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = user, password, "tcp", addr, name
	c.Logger, c.Timeout, c.InterpolateParams = &mysql.NopLogger{}, timeout, true
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func query(ctx context.Context, addr string, do func(context.Context, *sql.DB) error) error {
	db, err := open("root", "", addr, "", servers.AskTimeout)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, servers.AskTimeout)
	defer cancel()
	return do(ctx, db)
}

// ask returns the version of the server. It returns an error if the server is not the child process p.
func ask(ctx context.Context, p *servers.Process) (version string, err error) {
	err = query(ctx, p.Addr(), func(ctx context.Context, db *sql.DB) error {
		var dir string
		if err := db.QueryRowContext(ctx, "SELECT @@datadir, @@version").Scan(&dir, &version); err != nil {
			return err
		}
		if filepath.Clean(dir) != filepath.Join(p.Dir, "made", "data") {
			return servers.ErrOtherServer
		}
		return nil
	})
	version, _, _ = strings.Cut(version, "-MariaDB")
	return version, err
}

// totals maps the names of MariaDB's counters to lockbench's names.
var totals = map[string]string{"Bytes_received": "total_net_input_bytes", "Bytes_sent": "total_net_output_bytes", "Questions": "total_commands_processed"}

// counters returns the number of statements by kind, such as "calls.com_insert", and the number of bytes received and
// sent. It does not count the statement that reads the counters.
func counters(ctx context.Context, addr string) (map[string]float64, error) {
	all := map[string]float64{}
	return all, query(ctx, addr, func(ctx context.Context, db *sql.DB) error {
		rows, err := db.QueryContext(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Bytes_received', 'Bytes_sent', 'Questions') "+
			"OR Variable_name LIKE 'Com\\_%' AND Variable_name <> 'Com_show_status'")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			var value float64
			if err := rows.Scan(&name, &value); err != nil {
				return fmt.Errorf("counter %s: %w", name, err)
			}
			if ours, known := totals[name]; known {
				all[ours] = value
			} else if value > 0 { // skip kinds of statements that were never used
				all["calls."+strings.ToLower(name)] = value
			}
		}
		return rows.Err()
	})
}

const (
	selectHolder = "SELECT IS_USED_LOCK(SHA2(?, 256))"
	// selectLastWaiter selects the connection that has begun its wait for a name last.
	selectLastWaiter = `SELECT id FROM information_schema.processlist
		WHERE state = 'User lock' AND LOCATE(CONCAT('GET_LOCK(SHA2(', QUOTE(?)), info) > 0 ORDER BY time_ms LIMIT 1`
)

// endSession kills the connection that holds the lock taken with GET_LOCK(key), or a connection that waits for it. It
// returns when the connection has ended.
func endSession(ctx context.Context, addr, key string, of servers.Role) error {
	ctx, cancel := context.WithTimeout(ctx, servers.EndSessionTimeout)
	defer cancel()
	return query(ctx, addr, func(ctx context.Context, db *sql.DB) error {
		var holder, later sql.NullInt64
		if err := db.QueryRowContext(ctx, selectHolder, key).Scan(&holder); err != nil {
			return err
		}
		if !holder.Valid {
			return servers.ErrNoHolder
		}
		ended := holder.Int64
		if of == servers.LastWaiter {
			switch err := db.QueryRowContext(ctx, selectLastWaiter, key).Scan(&ended); {
			case errors.Is(err, sql.ErrNoRows):
				return servers.ErrNoWaiter
			case err != nil:
				return err
			}
		}
		if _, err := db.ExecContext(ctx, "KILL CONNECTION ?", ended); err != nil {
			return err
		}
		err := servers.AwaitGone(ctx, func(ctx context.Context, left *int) error {
			return db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", ended).Scan(left)
		})
		if err == nil && of == servers.LastWaiter {
			if err = db.QueryRowContext(ctx, selectHolder, key).Scan(&later); err == nil && later != holder {
				err = servers.ErrHolderChanged
			}
		}
		return err
	})
}

// Error codes of MariaDB and MySQL.
const (
	noSuchTable     = 1146 // the table does not exist; locks create it on first use
	refusedUser     = 1045
	refusedDatabase = 1044
)

// access returns the operations on a user's MySQL. The names are in rows of the table lockbench_locks. All runs share
// this table, so lockbench never drops it.
func access() *servers.Access {
	return &servers.Access{
		Form: servers.Form{Example: "mysql://user@host:3306/database", Port: "3306", Secret: true,
			Database: regexp.MustCompile(`^[^/]+$`), Rewrite: ofDriver},
		Version: func(ctx context.Context, t servers.Target, _ string) (version string, err error) {
			err = withDatabase(t, func(db *sql.DB) error { return db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version) })
			if isServerError(err, refusedUser, refusedDatabase) {
				err = errors.New("access denied: check the user, the password and the database")
			}
			return version, err
		},
		Names: func(ctx context.Context, t servers.Target, prefix string) (names []string, err error) {
			err = withDatabase(t, func(db *sql.DB) error {
				rows, err := db.QueryContext(ctx, "SELECT name FROM lockbench_locks WHERE name >= ? AND name < ?", prefix, servers.After(prefix))
				if err != nil {
					return unlessNoTable(err)
				}
				defer rows.Close()
				for rows.Next() {
					var name string
					if err := rows.Scan(&name); err != nil {
						return err
					}
					names = append(names, name)
				}
				return rows.Err()
			})
			return names, err
		},
		Remove: func(ctx context.Context, t servers.Target, prefix string) error {
			return withDatabase(t, func(db *sql.DB) error {
				_, err := db.ExecContext(ctx, "DELETE FROM lockbench_locks WHERE name >= ? AND name < ?", prefix, servers.After(prefix))
				return unlessNoTable(err)
			})
		},
	}
}

// ofDriver converts an address in the format of Go's MySQL driver, user:password@tcp(host:port)/database, to a URL.
func ofDriver(text string) (string, error) {
	if strings.Contains(text, "://") {
		return text, nil
	}
	c, err := mysql.ParseDSN(text)
	switch {
	case err != nil: // do not wrap err, because its text may contain a password
		return "", errors.New("neither a URL nor user@tcp(host:port)/database")
	case c.Net != "tcp":
		return "", errors.New("not a TCP address")
	case strings.Contains(text[max(0, strings.LastIndex(text, "/")):], "?"):
		return "", errors.New("unknown option after the database")
	}
	u := url.URL{Scheme: "mysql", Host: c.Addr, Path: "/" + c.DBName, User: url.User(c.User)}
	if c.Passwd != "" {
		u.User = url.UserPassword(c.User, c.Passwd)
	}
	return u.String(), nil
}

func unlessNoTable(err error) error {
	if isServerError(err, noSuchTable) {
		return nil
	}
	return err
}

// isServerError reports whether err is an error of the MySQL server with one of the error numbers.
func isServerError(err error, numbers ...uint16) bool {
	var said *mysql.MySQLError
	return errors.As(err, &said) && slices.Contains(numbers, said.Number)
}

func withDatabase(t servers.Target, do func(*sql.DB) error) error {
	db, err := open(t.User(), t.Password(), t.Hosts()[0], t.Database(), servers.ReachTimeout)
	if err != nil {
		return err
	}
	defer db.Close()
	return do(db)
}
