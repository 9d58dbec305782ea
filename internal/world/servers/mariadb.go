package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"lockbench/internal/world/children"
)

const (
	mariadbProgram  = "mariadbd"
	mariadbInstall  = "mariadb-install-db"
	mariadbDatabase = "lockbench"
	databaseWithin  = 20 * time.Second // a database that crashed looks through its log first
	unseatWithin    = 5 * time.Second
)

func mariadbStore() store {
	return store{
		name: MySQL, product: "mariadb", provide: "apt install mariadb-server",
		durability: "on disk: InnoDB's log, with an fsync before a commit is answered; what GET_LOCK gave is in memory, and goes with its session",
		missing: func() error {
			_, err := exec.LookPath(mariadbProgram)
			_, errInstall := exec.LookPath(mariadbInstall)
			return errors.Join(err, errInstall)
		},
		deployments: []deployment{{Single, 1, "", startMariaDB}},
	}
}

// mariadbNode is a mariadbd of our own. It is anybody's on loopback: its root has no password.
type mariadbNode struct{ *local }

var _ Node = (*mariadbNode)(nil)

func startMariaDB(ctx context.Context, l launcher, g *Group, _ int) error {
	n, err := start(ctx, l, 1, databaseWithin, func(n *local) (*mariadbNode, product) {
		m := &mariadbNode{n}
		return m, m
	})
	if err == nil {
		g.add(n, "mariadb", n.version)
	}
	return err
}

var mariadbTemplate = newTemplate(func(ctx context.Context, k *children.Keeper, dir string) error {
	setup := filepath.Join(dir, "setup.sql")
	if err := os.WriteFile(setup, []byte("CREATE DATABASE "+mariadbDatabase+";\n"), 0o600); err != nil {
		return err
	}
	return runToEnd(ctx, k, dir, exec.Command(mariadbInstall, append(mariadbOptions(dir), "--auth-root-authentication-method=normal",
		"--skip-test-db", "--extra-file="+setup)...))
})

// mariadbOptions are those that making a database and running it have in common.
func mariadbOptions(dir string) []string {
	options := []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--innodb-log-file-size=4M"}
	if os.Geteuid() == 0 {
		options = append(options, "--user=root") // it refuses to be root by mistake
	}
	return options
}

func (n *mariadbNode) prepare(ctx context.Context) error {
	return mariadbTemplate.copyTo(ctx, filepath.Join(n.dir, "made"))
}

func (n *mariadbNode) command() (*exec.Cmd, error) {
	return exec.Command(mariadbProgram, append(mariadbOptions(filepath.Join(n.dir, "made")),
		"--port="+strconv.Itoa(n.ports[0]), "--bind-address=127.0.0.1", "--socket="+filepath.Join(n.dir, "socket"),
		"--pid-file="+filepath.Join(n.dir, "pid"), "--skip-name-resolve", "--skip-networking=0",
		"--innodb-buffer-pool-size=32M", "--max-connections=1000")...), nil
}

func (n *mariadbNode) URL() string { return "mysql://root@" + n.addr() + "/" + mariadbDatabase }

// query asks one question on a connection of its own.
func (n *mariadbNode) query(ctx context.Context, do func(context.Context, *sql.DB) error) error {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.Logger, c.InterpolateParams = "root", "tcp", n.addr(), &mysql.NopLogger{}, true
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	return do(ctx, db)
}

// ask knows its server by its folder, which no other has.
func (n *mariadbNode) ask(ctx context.Context) (version string, err error) {
	err = n.query(ctx, func(ctx context.Context, db *sql.DB) error {
		var dir string
		if err := db.QueryRowContext(ctx, "SELECT @@datadir, @@version").Scan(&dir, &version); err != nil {
			return err
		}
		if filepath.Clean(dir) != filepath.Join(n.dir, "made", "data") {
			return errors.New("another server answers")
		}
		return nil
	})
	version, _, _ = strings.Cut(version, "-MariaDB")
	return version, err
}

// counters are the statements that the server has executed, by kind ("calls.com_insert"), and its bytes. How it is asked
// for them is left out.
func (n *mariadbNode) counters(ctx context.Context) (map[string]float64, error) {
	all := map[string]float64{}
	return all, n.query(ctx, func(ctx context.Context, db *sql.DB) error {
		rows, err := db.QueryContext(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Bytes_received', 'Bytes_sent', 'Questions') "+
			"OR Variable_name LIKE 'Com\\_%' AND Variable_name <> 'Com_show_status'")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				return err
			}
			number, err := strconv.ParseFloat(value, 64)
			switch name {
			case "Bytes_received":
				all["total_net_input_bytes"] = number
			case "Bytes_sent":
				all["total_net_output_bytes"] = number
			case "Questions":
				all["total_commands_processed"] = number
			default:
				if number > 0 { // of a hundred kinds
					all["calls."+strings.ToLower(name)] = number
				}
			}
			if err != nil {
				return fmt.Errorf("counter %s: %w", name, err)
			}
		}
		return rows.Err()
	})
}

// unseat kills the connection that holds the name that GET_LOCK knows the key by, and returns when it is gone.
func (n *mariadbNode) unseat(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, unseatWithin)
	defer cancel()
	return n.query(ctx, func(ctx context.Context, db *sql.DB) error {
		var holder sql.NullInt64
		if err := db.QueryRowContext(ctx, "SELECT IS_USED_LOCK(SHA2(?, 256))", key).Scan(&holder); err != nil {
			return err
		}
		if !holder.Valid {
			return errors.New("nobody was seen to hold it")
		}
		if _, err := db.ExecContext(ctx, "KILL CONNECTION ?", holder.Int64); err != nil {
			return err
		}
		return n.await(ctx, "end a session", func(ctx context.Context) bool {
			var left int
			err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", holder.Int64).Scan(&left)
			return err == nil && left == 0
		})
	})
}
