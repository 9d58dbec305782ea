// Package sql implements the locks on MySQL and PostgreSQL. Some locks are rows of a table, and others are bound to a
// session. Each function returns an impls.Impl.
package sql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// Error numbers of MariaDB and MySQL, and the name and definition of the table that stores the locks.
const (
	duplicateKey    = 1062
	waitedTooLong   = 1205
	deadlock        = 1213
	alreadyATable   = 1050
	lockTable       = "lockbench_locks"
	createLockTable = `CREATE TABLE IF NOT EXISTS ` + lockTable + ` (
		name VARBINARY(255) NOT NULL PRIMARY KEY,
		token CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		expires DATETIME(6) NULL) ENGINE=InnoDB`
)

func mysqlConnector(env impls.Env) (driver.Connector, error) {
	u, err := env.Server("mysql://user@host:port/database")
	if err != nil {
		return nil, err
	}
	c := mysql.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr, c.DBName = "tcp", u.Host, strings.Trim(u.Path, "/")
	c.DialFunc = env.Dial
	c.Timeout = waiting.CommandTimeout
	c.InterpolateParams = true    // without this, a statement with arguments takes three round trips
	c.Logger = &mysql.NopLogger{} // discards log messages, because the library also returns each error
	return mysql.NewConnector(c)
}

type rows struct {
	waiting.Polling
	env impls.Env
	db  *sql.DB
}

var _ impls.Prober = rows{}

func openRows(env impls.Env) (rows, error) {
	c, err := mysqlConnector(env)
	if err != nil {
		return rows{}, err
	}
	r := rows{waiting.NewPolling(env), env, sql.OpenDB(c)}
	r.db.SetMaxIdleConns(1024) // with the default of 2 idle connections, most statements would need a new connection
	if _, err := r.exec(context.Background(), createLockTable); err != nil && !isMySQL(err, alreadyATable) {
		return rows{}, errors.Join(fmt.Errorf("create the table of locks: %w", err), r.db.Close())
	}
	return r, nil
}

func (r rows) name(key string) string { return r.env.Prefix + key }

// longestName is the length in bytes of the longest name that the table can store. A server in a non-strict mode truncates
// longer names.
const longestName = 255

// acquire repeats an insert statement until the row is acquired. The statement's first arguments are the row's name and the
// token. If another client holds the lock, the statement must fail or affect no row.
func (r rows) acquire(ctx context.Context, req impls.Request, validity time.Duration, insert string, more ...any) (impls.Hold, error) {
	if n := len(r.name(req.Key)); n > longestName {
		return impls.Hold{}, fmt.Errorf("a key of %d bytes, with its prefix: want at most %d", n, longestName)
	}
	return r.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) {
		mine := impls.Token(r.env.Rand)
		n, err := r.exec(ctx, insert, append([]any{r.name(req.Key), mine}, more...)...)
		if isMySQL(err, duplicateKey) || err == nil && n == 0 {
			err = impls.ErrBusy
		}
		return impls.Grant{Token: mine, Validity: validity}, err
	})
}

// exec executes one statement as a transaction. After a deadlock or a long wait, InnoDB rolls the statement back, and exec
// repeats it.
func (r rows) exec(ctx context.Context, statement string, args ...any) (affected int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	for {
		result, err := r.db.ExecContext(ctx, statement, args...)
		switch {
		case err == nil:
			return result.RowsAffected()
		case !isMySQL(err, deadlock, waitedTooLong) || ctx.Err() != nil:
			return 0, err
		}
	}
}

func isMySQL(err error, numbers ...uint16) bool {
	var said *mysql.MySQLError
	return errors.As(err, &said) && slices.Contains(numbers, said.Number)
}

// Release deletes the row of a grant. It returns ErrNotHeld if there is no such row.
func (r rows) Release(ctx context.Context, g impls.Grant) error {
	return impls.Affected(r.exec(ctx, "DELETE FROM "+lockTable+" WHERE name = ? AND token = ?", r.name(g.Key), g.Token))
}

// Probe returns the token in the row of a key and the remaining time of the lease. If the row has expired, the key counts
// as free.
func (r rows) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, waiting.CommandTimeout)
	defer cancel()
	var token string
	var left sql.NullInt64
	err := r.db.QueryRowContext(ctx, "SELECT token, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires) FROM "+lockTable+" WHERE name = ?",
		r.name(key)).Scan(&token, &left)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", 0, nil
	case err != nil:
		return "", 0, err
	case !left.Valid:
		return token, impls.Unbounded, nil
	case left.Int64 <= 0:
		return "", 0, nil
	}
	return token, time.Duration(left.Int64) * time.Microsecond, nil
}

// Close closes the connections. The rows of current holds stay in the table.
func (r rows) Close() error { return r.db.Close() }
