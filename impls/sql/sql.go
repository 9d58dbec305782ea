// Package sql implements the locks on MySQL and PostgreSQL: rows, and session locks. Each function returns an impls.Impl.
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

// Definite errors of MariaDB and MySQL.
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
	c.InterpolateParams = true    // otherwise a statement with arguments takes three round trips
	c.Logger = &mysql.NopLogger{} // each error is returned as well
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
	r.db.SetMaxIdleConns(1024) // with the default of 2 most statements would connect again
	if _, err := r.exec(context.Background(), createLockTable); err != nil && !isMySQL(err, alreadyATable) {
		return rows{}, errors.Join(fmt.Errorf("create the table of locks: %w", err), r.db.Close())
	}
	return r, nil
}

func (r rows) name(key string) string { return r.env.Prefix + key }

// longestName is the longest name in bytes that the table can store. A server that is not strict truncates longer ones.
const longestName = 255

// acquire polls with a statement that inserts a row by its name and token, and affects none if the row exists.
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

// exec executes one statement, which is a transaction. InnoDB rolls it back on a deadlock or after a long wait. It then had
// no effect and is repeated.
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

// Release deletes the row of a grant. ErrNotHeld: there was no such row.
func (r rows) Release(ctx context.Context, g impls.Grant) error {
	return impls.Affected(r.exec(ctx, "DELETE FROM "+lockTable+" WHERE name = ? AND token = ?", r.name(g.Key), g.Token))
}

// Probe reads the row of a key. If the row has expired, the key is free.
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

// Close ends the connections. Rows stay, because they belong to no connection.
func (r rows) Close() error { return r.db.Close() }
