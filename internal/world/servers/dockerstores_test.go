package servers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// importImage makes an image of files of this machine and the libraries that they need, and of a folder of the test's own
// ("": none), and has the store run from it. Its name says what it is.
func importImage(t *testing.T, store string, files []string, own string, changes ...string) {
	t.Helper()
	// What is no program, or needs nothing, ldd says by its exit code.
	needs, _ := exec.Command("ldd", files...).Output()
	for _, word := range strings.Fields(string(needs)) {
		if strings.HasPrefix(word, "/") && !strings.HasSuffix(word, ":") {
			files = append(files, filepath.Clean(word))
		}
	}
	files = slices.Compact(slices.Sorted(slices.Values(files)))
	folders := files
	files = slices.DeleteFunc(slices.Clone(files), func(file string) bool { // one of them has it in it
		return slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(file, f+"/") })
	})
	args := []string{"--dereference", "--hard-dereference", "--ignore-failed-read", "--exclude=jmods", "--exclude=src.zip", "--exclude=docs", "-c", "-P"}
	if own != "" {
		files = append(files, "-C", own, ".")
	}
	name := "lockbench/" + store + ":local"
	importing := []string{"import", "--change", "WORKDIR /scratch"}
	for _, c := range changes {
		importing = append(importing, "--change", c)
	}
	pack := exec.Command("tar", append(args, files...)...)
	load := exec.Command("docker", append(importing, "-", name)...)
	var err error
	load.Stdin, err = pack.StdoutPipe()
	must(t, err)
	must(t, pack.Start())
	out, err := load.CombinedOutput()
	if err != nil {
		t.Fatalf("docker import: %v: %s", err, out)
	}
	must(t, pack.Wait())
	i, _ := imageOf(store)
	t.Setenv(i.variable, name)
}

// needStore skips where a store's programs are missing, and fails where they are required.
func needStore(t *testing.T, store, required string) {
	t.Helper()
	if err := Missing(store); err != nil {
		if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), required) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// rooted is what an image has at its root: a script that it starts with, and who is known in it.
func rooted(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "etc"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "etc", "passwd"), []byte("root:x:0:0::/:/bin/sh\nother:x:"+uidOfPostgres(t)+":0::/:/bin/sh\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "start"), []byte("set -e\n"+script), 0o755))
	return dir
}

func uidOfPostgres(t *testing.T) string {
	t.Helper()
	as, err := unprivileged()
	must(t, err)
	return fmt.Sprint(as.uid)
}

const starts = `ENTRYPOINT ["/bin/sh", "/start"]`

func importEtcd(t *testing.T) {
	program, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("etcd is not on the PATH: apt install etcd-server")
	}
	importImage(t, Etcd, []string{program}, "", "ENV PATH="+filepath.Dir(program))
}

// importZooKeeper has settings come from the environment, as those of the image that is stood in for do.
func importZooKeeper(t *testing.T) {
	needStore(t, ZooKeeper, "zookeeper")
	program, err := exec.LookPath(zooKeeperProgram)
	must(t, err)
	program, err = filepath.EvalSymlinks(program)
	must(t, err)
	home := filepath.Dir(filepath.Dir(program))
	files := []string{"/bin/sh", home, program}
	for _, of := range []string{"*.so", "server/*.so"} {
		found, err := filepath.Glob(filepath.Join(home, "lib", of))
		must(t, err)
		files = append(files, found...)
	}
	var path []string
	for _, name := range zooKeeperLibraries() {
		path = append(path, library(name))
	}
	own := rooted(t, `for line in dataDir=/scratch clientPort=2181 "tickTime=$ZOO_TICK_TIME" "maxClientCnxns=$ZOO_MAX_CLIENT_CNXNS" \
	"admin.enableServer=$ZOO_ADMINSERVER_ENABLED" "4lw.commands.whitelist=$ZOO_4LW_COMMANDS_WHITELIST" $ZOO_CFG_EXTRA
do echo "$line"; done >/zoo.cfg
exec `+program+" -Xmx64m -XX:TieredStopAtLevel=1 -XX:-UsePerfData -cp "+strings.Join(path, ":")+" org.apache.zookeeper.server.quorum.QuorumPeerMain /zoo.cfg\n")
	importImage(t, ZooKeeper, append(files, path...), own, starts)
}

// withDatabase copies to what an image has at its root what makes a database of its store.
func withDatabase(t *testing.T, of *template, own string) {
	t.Helper()
	from, err := of.made(t.Context())
	must(t, err)
	if out, err := exec.Command("cp", "-a", filepath.Join(from, "data"), filepath.Join(own, "data")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func importMariaDB(t *testing.T) {
	needStore(t, MySQL, "mariadb")
	program, err := exec.LookPath(mariadbProgram)
	must(t, err)
	own := rooted(t, `exec "$@" --datadir=/data --innodb-log-file-size=4M --user=root --skip-grant-tables --socket=/scratch/socket --tmpdir=/scratch`+"\n")
	withDatabase(t, mariadbTemplate, own)
	importImage(t, MySQL, []string{"/bin/sh", program, "/usr/share/mysql"}, own, starts, "ENV PATH="+filepath.Dir(program))
}

// importPostgres has a database that everybody may reach, as the image that is stood in for is told to have.
func importPostgres(t *testing.T) {
	needStore(t, Postgres, "postgres")
	cmd, err := postgresCommand(postgresProgram)
	must(t, err)
	program, err := filepath.EvalSymlinks(cmd.Path)
	must(t, err)
	own := rooted(t, `exec "$@" -c listen_addresses=* -c unix_socket_directories=`+"\n")
	withDatabase(t, postgresTemplate, own)
	f, err := os.OpenFile(filepath.Join(own, "data", "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("host all all all trust\n")
	must(t, err)
	must(t, f.Close())
	files := []string{"/bin/sh", program, "/usr/share/zoneinfo/UTC"}
	for _, what := range []string{"--pkglibdir", "--sharedir"} {
		dir, err := exec.Command(filepath.Join(filepath.Dir(program), "pg_config"), what).Output()
		if err != nil {
			t.Skip("pg_config does not tell where the rest of PostgreSQL is")
		}
		files = append(files, strings.TrimSpace(string(dir)))
	}
	importImage(t, Postgres, files, own, starts, "ENV PATH="+filepath.Dir(program), "ENV PGDATA=/data", "USER "+uidOfPostgres(t))
}

// dockerStores is a part of TestDocker, since the library knows one daemon in the life of a process: each store comes up in
// a container, counts, and has what it acknowledged after it was killed.
func dockerStores(t *testing.T) {
	for store, provide := range map[string]func(*testing.T){Etcd: importEtcd, ZooKeeper: importZooKeeper, MySQL: importMariaDB, Postgres: importPostgres} {
		t.Run(store, func(t *testing.T) {
			provide(t)
			g, err := Start(t.Context(), Spec{How: Docker, Store: store})
			must(t, err)
			t.Cleanup(func() { must(t, g.Stop()) })
			n := g.Nodes[0]
			if !strings.HasPrefix(n.URL(), store+"://") || !strings.Contains(n.URL(), "127.0.0.1:") || !strings.Contains(g.Server, "docker") || g.Durability == "" {
				t.Errorf("%s at %s: %q", g.Server, n.URL(), g.Durability)
			}
			before, err := n.Counters(t.Context())
			must(t, err)
			keepsInContainer(t, g, store)
			after, err := n.Counters(t.Context())
			if err != nil || len(after) < len(before) || len(after) == 0 {
				t.Errorf("counters: %v, then %v, %v", before, after, err)
			}
			must(t, n.Pause())
			must(t, n.Resume())
			must(t, n.Kill())
			if n.Alive() {
				t.Error("it lives though it was killed")
			}
		})
	}
}

// keepsInContainer writes, has the server killed, and reads.
func keepsInContainer(t *testing.T, g *Group, store string) {
	t.Helper()
	if store == Etcd || store == ZooKeeper {
		must(t, quorumClientOf(t, g, store).write("key", "kept"))
		must(t, g.Nodes[0].Restart(t.Context()))
		if value, err := quorumClientOf(t, g, store).read("key"); value != "kept" {
			t.Errorf("it has %q, %v", value, err)
		}
		return
	}
	execute(t, clientOf(t, g.Nodes[0]), "CREATE TABLE kept (n INTEGER)")
	execute(t, clientOf(t, g.Nodes[0]), "INSERT INTO kept VALUES (42)")
	must(t, g.Nodes[0].Restart(t.Context()))
	var kept int
	if err := clientOf(t, g.Nodes[0]).QueryRowContext(t.Context(), "SELECT n FROM kept").Scan(&kept); err != nil || kept != 42 {
		t.Errorf("it has %d, %v", kept, err)
	}
}

// TestMongoCounters: what MongoDB does not know it counts as a number, and each command as a document.
func TestMongoCounters(t *testing.T) {
	of := func(total int64) bson.D {
		return bson.D{{Key: "failed", Value: int64(1)}, {Key: "total", Value: total}}
	}
	answer, err := bson.Marshal(bson.D{
		{Key: "metrics", Value: bson.D{{Key: "commands", Value: bson.D{{Key: "<UNKNOWN>", Value: int64(3)},
			{Key: "findAndModify", Value: of(5)}, {Key: "delete", Value: of(0)}, {Key: "hello", Value: of(9)}, {Key: "serverStatus", Value: of(9)}}}}},
		{Key: "network", Value: bson.D{{Key: "bytesIn", Value: int64(7)}, {Key: "bytesOut", Value: int32(8)}}}})
	must(t, err)
	all, err := mongoCounters(answer)
	if want := "map[calls.findAndModify:5 total_net_input_bytes:7 total_net_output_bytes:8]"; err != nil || fmt.Sprint(all) != want {
		t.Errorf("%v, %v, want %s", all, err, want)
	}
	if _, err := mongoCounters(bson.Raw{5, 0, 0, 0, 0}); err == nil {
		t.Error("what tells nothing was taken for an answer")
	}
}

// TestMongoReady: a server that is in no replica set is put into one, once, and it serves when it is the primary there.
func TestMongoReady(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	var initiated, asked atomic.Int32
	go func() { // it ends with the listener
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			command := make([]byte, 1<<12)
			n, _ := conn.Read(command)
			hello := bson.D{{Key: "ok", Value: 1.0}, {Key: "isWritablePrimary", Value: initiated.Load() > 0 && asked.Load() > 1}}
			if initiated.Load() > 0 {
				hello = append(hello, bson.E{Key: "setName", Value: mongoSet})
			}
			if bytes.Contains(command[:n], []byte("replSetInitiate")) {
				initiated.Add(1)
			} else {
				asked.Add(1)
			}
			body, _ := bson.Marshal(hello)
			answer := append(binary.LittleEndian.AppendUint32(nil, uint32(21+len(body))), make([]byte, 17)...)
			_, _ = conn.Write(append(answer, body...))
			conn.Close()
		}
	}()
	n := &local{ports: []int{listener.Addr().(*net.TCPAddr).Port}}
	for i, ready := range []bool{false, false, true} {
		if err := mongoReady(t.Context(), n); (err == nil) != ready {
			t.Errorf("asked %d times: %v", i+1, err)
		}
	}
	if got := initiated.Load(); got != 1 {
		t.Errorf("it was put into a replica set %d times", got)
	}
}
