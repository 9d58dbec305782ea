package servers

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// The errors of MariaDB and MySQL that mean something here.
const (
	noSuchTable     = 1146 // no lock has made it yet
	refusedUser     = 1045
	refusedDatabase = 1044
)

// theirMySQL has rows in the table of locks, which stays: it is everybody's.
func theirMySQL() theirs {
	return theirs{
		store: MySQL,
		version: func(ctx context.Context, t Target, host string) (version string, err error) {
			db, err := t.openMySQL(host)
			if err != nil {
				return "", err
			}
			defer db.Close()
			err = db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version)
			if saysMySQL(err, refusedUser, refusedDatabase) {
				err = errors.New("it refuses the user or the password, or that database")
			}
			return version, err
		},
		names: func(ctx context.Context, t Target, prefix string) (names []string, err error) {
			db, err := t.openMySQL(t.hosts[0])
			if err != nil {
				return nil, err
			}
			defer db.Close()
			rows, err := db.QueryContext(ctx, "SELECT name FROM lockbench_locks WHERE name >= ? AND name < ?", prefix, afterAll(prefix))
			if err != nil {
				return nil, unlessNoTable(err)
			}
			defer rows.Close()
			for rows.Next() {
				var name string
				if err := rows.Scan(&name); err != nil {
					return nil, err
				}
				names = append(names, name)
			}
			return names, rows.Err()
		},
		remove: func(ctx context.Context, t Target, prefix string) error {
			db, err := t.openMySQL(t.hosts[0])
			if err != nil {
				return err
			}
			defer db.Close()
			_, err = db.ExecContext(ctx, "DELETE FROM lockbench_locks WHERE name >= ? AND name < ?", prefix, afterAll(prefix))
			return unlessNoTable(err)
		},
	}
}

func unlessNoTable(err error) error {
	if saysMySQL(err, noSuchTable) {
		return nil
	}
	return err
}

// saysMySQL tells whether a server answered with one of these errors.
func saysMySQL(err error, numbers ...uint16) bool {
	var said *mysql.MySQLError
	return errors.As(err, &said) && slices.Contains(numbers, said.Number)
}

func (t Target) openMySQL(host string) (*sql.DB, error) {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = t.user, t.password, "tcp", host, t.database
	c.Logger, c.Timeout, c.InterpolateParams = &mysql.NopLogger{}, reachWithin, true
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}
