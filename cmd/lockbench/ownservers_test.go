package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"

	"github.com/go-sql-driver/mysql"
	"github.com/rogpeppe/go-internal/testscript"

	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// startMariaDB implements the script command "mariadb". It starts a server with a database and a user with a password,
// and sets ADDR.
func startMariaDB(ts *testscript.TestScript, _ bool, _ []string) {
	g, err := stores.Start(context.Background(), servers.Spec{How: servers.Local, Store: servers.MySQL})
	ts.Check(err)
	ts.Defer(func() { ts.Check(g.Stop()) })
	u, err := url.Parse(g.URLs()[0])
	ts.Check(err)
	ts.Setenv("ADDR", u.Host)
	asAdmin(ts, func(db *sql.DB) error {
		for _, statement := range []string{"CREATE DATABASE theirs", "CREATE USER me@'%' IDENTIFIED BY '" + password + "'", "GRANT ALL ON theirs.* TO me@'%'"} {
			if _, err := db.Exec(statement); err != nil {
				return err
			}
		}
		return nil
	})
}

func asAdmin(ts *testscript.TestScript, do func(*sql.DB) error) {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr = "root", "tcp", ts.Getenv("ADDR")
	connector, err := mysql.NewConnector(c)
	ts.Check(err)
	db := sql.OpenDB(connector)
	defer db.Close()
	ts.Check(do(db))
}

// row implements the script command "row NAME", which inserts a row into the table of locks.
func row(ts *testscript.TestScript, _ bool, args []string) {
	asAdmin(ts, func(db *sql.DB) error {
		_, err := db.Exec("INSERT INTO theirs.lockbench_locks (name, token) VALUES (?, 'x')", args[0])
		return err
	})
}

// rows implements the script command "rows N", which checks that the table of locks has N rows.
func rows(ts *testscript.TestScript, _ bool, args []string) {
	asAdmin(ts, func(db *sql.DB) error {
		n := 0
		err := db.QueryRow("SELECT COUNT(*) FROM theirs.lockbench_locks").Scan(&n)
		if err == nil && fmt.Sprint(n) != args[0] {
			err = fmt.Errorf("%d rows are in the table, want %s", n, args[0])
		}
		return err
	})
}
