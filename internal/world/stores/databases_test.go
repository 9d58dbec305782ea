package stores

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/go-sql-driver/mysql"

	"lockbench/internal/world/servers"
)

// eachDatabase starts each installed database in a temporary folder. At the end of the test, it checks that the folder
// is empty.
func eachDatabase(t *testing.T, test func(t *testing.T, n servers.Node)) {
	for store, required := range map[string]string{servers.MySQL: "mariadb", servers.Postgres: "postgres"} {
		t.Run(required, func(t *testing.T) {
			if err := Missing(store); err != nil {
				if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), required) {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			// The first start creates the template, which outlives the test. So start a server before the temporary
			// folder is set.
			before, err := Start(t.Context(), servers.Spec{How: servers.Local, Store: store})
			must(t, err)
			must(t, before.Stop())
			tmp := t.TempDir()
			for _, dir := range []string{tmp, filepath.Dir(tmp)} { // the server may run as another user, who must be able to enter the folders
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("TMPDIR", tmp)
			memory := segments(t)
			g, err := Start(t.Context(), servers.Spec{How: servers.Local, Store: store})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := g.Stop(); err != nil {
					t.Error(err)
				}
				if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
					t.Errorf("files left: %v", left)
				}
				if now := segments(t); len(now) > len(memory) {
					t.Errorf("segments of shared memory: %v before, %v after", memory, now)
				}
			})
			test(t, g.Nodes[0])
		})
	}
}

// segments returns the shared memory segments that no process has attached.
func segments(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return nil // this file exists only on Linux
	}
	var orphans []string
	for _, line := range strings.Split(string(text), "\n")[1:] {
		if f := strings.Fields(line); len(f) > 6 && f[6] == "0" {
			orphans = append(orphans, f[1])
		}
	}
	return orphans
}

// clientOf returns a connection pool for a database.
func clientOf(t *testing.T, n servers.Node) *sql.DB {
	t.Helper()
	var db *sql.DB
	var err error
	if address, isMySQL := strings.CutPrefix(n.URL(), "mysql://root@"); isMySQL {
		c := mysql.NewConfig()
		c.User, c.Net, c.Logger = "root", "tcp", &mysql.NopLogger{}
		c.Addr, c.DBName, _ = strings.Cut(address, "/")
		connector, connectorErr := mysql.NewConnector(c)
		db, err = sql.OpenDB(connector), connectorErr
	} else {
		db, err = sql.Open("pgx", n.URL()+"?sslmode=disable")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestDatabaseKeepsAcknowledgedWrites(t *testing.T) {
	eachDatabase(t, func(t *testing.T, n servers.Node) {
		execute(t, clientOf(t, n), "CREATE TABLE kept (n INTEGER)")
		execute(t, clientOf(t, n), "INSERT INTO kept VALUES (42)")
		if err := n.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := n.Kill(); err != nil || n.Alive() {
			t.Fatalf("alive: %t, %v", n.Alive(), err)
		}
		if err := n.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		var kept int
		if err := clientOf(t, n).QueryRowContext(t.Context(), "SELECT n FROM kept").Scan(&kept); err != nil || kept != 42 {
			t.Errorf("kept is %d, %v", kept, err)
		}
	})
}

// TestDatabaseIsPaused checks that Pause also stops existing sessions, which may run in separate processes.
func TestDatabaseIsPaused(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs Linux to verify a pause")
	}
	eachDatabase(t, func(t *testing.T, n servers.Node) {
		conn, err := clientOf(t, n).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := n.Pause(); err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() { answered <- conn.QueryRowContext(context.Background(), "SELECT 1").Scan(new(int)) }()
		select {
		case err := <-answered:
			t.Errorf("an answer of the paused server: %v", err)
			answered <- err
		case <-time.After(200 * time.Millisecond):
		}
		if err := n.Resume(); err != nil {
			t.Fatal(err)
		}
		if err := <-answered; err != nil {
			t.Errorf("the query during the pause: %v", err)
		}
		if err := n.Pause(); err != nil { // Stop must also end a paused server
			t.Fatal(err)
		}
	})
}

func TestDatabaseCounts(t *testing.T) {
	eachDatabase(t, func(t *testing.T, n servers.Node) {
		ask, counter := "SELECT GET_LOCK('counted', 0)", "calls.com_select"
		if strings.HasPrefix(n.URL(), "postgres") {
			ask, counter = "SELECT pg_try_advisory_lock(17)", "calls.pg_try_advisory_lock"
		}
		db := clientOf(t, n)
		before, err := n.Counters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 7 {
			execute(t, db, ask)
		}
		after, err := n.Counters(t.Context())
		if rose := after[counter] - before[counter]; err != nil || rose != 7 {
			t.Errorf("%s rose by %v, want 7: %v, %v", counter, rose, after, err)
		}
	})
}

// TestDatabaseEndsSession checks that EndSession ends the session of the holder or of the last waiter, and no other.
func TestDatabaseEndsSession(t *testing.T) {
	eachDatabase(t, func(t *testing.T, n servers.Node) {
		take := "SELECT GET_LOCK(SHA2('key', 256), 60)"
		if strings.HasPrefix(n.URL(), "postgres") {
			take = "SELECT pg_advisory_lock(hashtextextended('key', 0)) IS NOT NULL"
		}
		end := func(of servers.Role) error { return n.EndSession(t.Context(), "key", of) }
		if err := end(servers.Holder); !errors.Is(err, servers.ErrNoHolder) {
			t.Errorf("without a holder: %v", err)
		}
		request := func() <-chan error {
			db := clientOf(t, n)
			answer := make(chan error, 1)
			go func() {
				var granted bool
				answer <- db.QueryRowContext(t.Context(), take).Scan(&granted)
			}()
			return answer
		}
		conn, err := clientOf(t, n).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var granted bool
		if err := conn.QueryRowContext(t.Context(), take).Scan(&granted); err != nil || !granted {
			t.Fatalf("granted %t, %v", granted, err)
		}
		if err := end(servers.LastWaiter); !errors.Is(err, servers.ErrNoWaiter) {
			t.Errorf("without a waiter: %v", err)
		}
		first := request()
		time.Sleep(300 * time.Millisecond) // so that the two requests arrive in this order
		second := request()
		waitUntil(t, "the session of the last waiter can be ended", func() bool {
			time.Sleep(200 * time.Millisecond)
			return end(servers.LastWaiter) == nil
		})
		if err := <-second; err == nil {
			t.Error("the session of the last waiter still exists")
		}
		if err := conn.PingContext(t.Context()); err != nil {
			t.Errorf("the holder: %v", err)
		}
		if err := end(servers.Holder); err != nil {
			t.Fatal(err)
		}
		if err := conn.PingContext(t.Context()); err == nil {
			t.Error("the holder's session still exists")
		}
		if err := <-first; err != nil {
			t.Errorf("the next client: %v", err)
		}
	})
}

// TestPostgresNeedsReadableFolder checks the error for a folder that the server's user cannot enter.
func TestPostgresNeedsReadableFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: other users run the server themselves")
	}
	if err := Missing(servers.Postgres); err != nil {
		t.Skip(err)
	}
	t.Setenv("TMPDIR", t.TempDir()) // only the owner can enter the parent of this folder
	if err := Missing(servers.Postgres); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("a folder that the server cannot enter: %v", err)
	}
}
