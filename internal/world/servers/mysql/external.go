package mysql

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"lockbench/internal/world/servers"
)

// The errors of MariaDB and MySQL that mean something here.
const (
	noSuchTable     = 1146 // no lock has made it yet
	refusedUser     = 1045
	refusedDatabase = 1044
)

// access finds rows in the table of locks, which stays: it is everybody's.
func access() *servers.Access {
	return &servers.Access{
		Form: servers.Form{Like: "mysql://user@host:3306/database", Port: "3306", Secret: true,
			Database: regexp.MustCompile(`^[^/]+$`), Rewrite: ofDriver},
		Version: func(ctx context.Context, t servers.Target, _ string) (version string, err error) {
			err = at(t, func(db *sql.DB) error { return db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version) })
			if answers(err, refusedUser, refusedDatabase) {
				err = errors.New("it refuses the user or the password, or that database")
			}
			return version, err
		},
		Names: func(ctx context.Context, t servers.Target, prefix string, visit func([]string) error) error {
			var names []string
			err := at(t, func(db *sql.DB) error {
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
			return errors.Join(err, visit(names))
		},
		Remove: func(ctx context.Context, t servers.Target, prefix string) error {
			return at(t, func(db *sql.DB) error {
				_, err := db.ExecContext(ctx, "DELETE FROM lockbench_locks WHERE name >= ? AND name < ?", prefix, servers.After(prefix))
				return unlessNoTable(err)
			})
		},
	}
}

// ofDriver rewrites the form that Go's driver has: user:password@tcp(host:port)/database.
func ofDriver(text string) (string, error) {
	if strings.Contains(text, "://") {
		return text, nil
	}
	c, err := mysql.ParseDSN(text)
	switch {
	case err != nil: // its text may quote
		return "", errors.New("it is neither a URL nor user@tcp(host:port)/database")
	case c.Net != "tcp":
		return "", errors.New("it is not reached by tcp")
	case strings.Contains(text[max(0, strings.LastIndex(text, "/")):], "?"):
		return "", errors.New("there is something after the database, and no option is known")
	}
	u := url.URL{Scheme: "mysql", Host: c.Addr, Path: "/" + c.DBName, User: url.User(c.User)}
	if c.Passwd != "" {
		u.User = url.UserPassword(c.User, c.Passwd)
	}
	return u.String(), nil
}

func unlessNoTable(err error) error {
	if answers(err, noSuchTable) {
		return nil
	}
	return err
}

// answers reports whether a server answered with one of these errors.
func answers(err error, numbers ...uint16) bool {
	var said *mysql.MySQLError
	return errors.As(err, &said) && slices.Contains(numbers, said.Number)
}

func at(t servers.Target, do func(*sql.DB) error) error {
	db, err := open(t.User(), t.Password(), t.Hosts()[0], t.Database(), servers.ReachWithin)
	if err != nil {
		return err
	}
	defer db.Close()
	return do(db)
}
