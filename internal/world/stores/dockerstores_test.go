package stores

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/world/servers"
)

// importImage makes a container image for a store and makes the store use it. The image contains files of this machine
// (parameter files) and the libraries that these files need. If own is not "", the image also contains the content of
// the folder own.
func importImage(t *testing.T, store string, files []string, own string, changes ...string) {
	t.Helper()
	// Ignore the error. ldd fails for scripts and static programs, which need no libraries.
	needs, _ := exec.Command("ldd", files...).Output()
	for _, word := range strings.Fields(string(needs)) {
		if strings.HasPrefix(word, "/") && !strings.HasSuffix(word, ":") {
			files = append(files, filepath.Clean(word))
		}
	}
	files = slices.Compact(slices.Sorted(slices.Values(files)))
	folders := files
	// Skip files inside a listed folder, because the folder is added as a whole.
	files = slices.DeleteFunc(slices.Clone(files), func(file string) bool {
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
	of, err := Find(store)
	must(t, err)
	t.Setenv(of.Image.Variable, name)
}

// needStore skips the test if a store is not installed. If the environment variable LOCKBENCH_REQUIRE, a comma-separated
// list, contains the name required, it fails the test instead.
func needStore(t *testing.T, store, required string) {
	t.Helper()
	if err := Missing(store); err != nil {
		if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), required) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// rooted makes the root folder of an image, with a start script and the system's list of users.
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
	if attr := commandOf(t, servers.Postgres).SysProcAttr; attr != nil && attr.Credential != nil {
		return fmt.Sprint(attr.Credential.Uid)
	}
	return fmt.Sprint(os.Getuid())
}

// commandOf returns the command that starts a local server of the store.
func commandOf(t *testing.T, store string) *exec.Cmd {
	t.Helper()
	of, err := Find(store)
	must(t, err)
	cmd, err := of.Command(&servers.Process{Ports: []int{1}, Dir: t.TempDir()})
	must(t, err)
	return cmd
}

const starts = `ENTRYPOINT ["/bin/sh", "/start"]`

func importEtcd(t *testing.T) {
	program, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("etcd is not on the PATH: apt install etcd-server")
	}
	importImage(t, servers.Etcd, []string{program}, "", "ENV PATH="+filepath.Dir(program))
}

// importZooKeeper makes an image that reads its settings from the environment, as the official image does.
func importZooKeeper(t *testing.T) {
	needStore(t, servers.ZooKeeper, "zookeeper")
	cmd := commandOf(t, servers.ZooKeeper)
	program, err := filepath.EvalSymlinks(cmd.Path)
	must(t, err)
	home := filepath.Dir(filepath.Dir(program))
	files := []string{"/bin/sh", home, program}
	for _, of := range []string{"*.so", "server/*.so"} {
		found, err := filepath.Glob(filepath.Join(home, "lib", of))
		must(t, err)
		files = append(files, found...)
	}
	libraries := cmd.Args[slices.Index(cmd.Args, "-cp")+1]
	own := rooted(t, `for line in dataDir=/scratch clientPort=2181 "tickTime=$ZOO_TICK_TIME" "maxClientCnxns=$ZOO_MAX_CLIENT_CNXNS" \
	"admin.enableServer=$ZOO_ADMINSERVER_ENABLED" "4lw.commands.whitelist=$ZOO_4LW_COMMANDS_WHITELIST" $ZOO_CFG_EXTRA
do echo "$line"; done >/zoo.cfg
exec `+program+" -Xmx64m -XX:TieredStopAtLevel=1 -XX:-UsePerfData -cp "+libraries+" org.apache.zookeeper.server.quorum.QuorumPeerMain /zoo.cfg\n")
	importImage(t, servers.ZooKeeper, append(files, strings.Split(libraries, ":")...), own, starts)
}

// withDatabase copies a new database into the root folder of an image.
func withDatabase(t *testing.T, store, own string) {
	t.Helper()
	g, err := Start(t.Context(), servers.Spec{How: servers.Local, Store: store})
	must(t, err)
	defer func() { must(t, g.Stop()) }()
	must(t, g.Nodes[0].Kill())
	from := g.Nodes[0].(*servers.Process).Dir
	if out, err := exec.Command("cp", "-a", filepath.Join(from, "made", "data"), filepath.Join(own, "data")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func importMariaDB(t *testing.T) {
	needStore(t, servers.MySQL, "mariadb")
	program := commandOf(t, servers.MySQL).Path
	own := rooted(t, `exec "$@" --datadir=/data --innodb-log-file-size=4M --user=root --skip-grant-tables --socket=/scratch/socket --tmpdir=/scratch`+"\n")
	withDatabase(t, servers.MySQL, own)
	importImage(t, servers.MySQL, []string{"/bin/sh", program, "/usr/share/mysql"}, own, starts, "ENV PATH="+filepath.Dir(program))
}

// importPostgres makes an image whose database accepts every client without a password, as the official image is
// configured.
func importPostgres(t *testing.T) {
	needStore(t, servers.Postgres, "postgres")
	program, err := filepath.EvalSymlinks(commandOf(t, servers.Postgres).Path)
	must(t, err)
	own := rooted(t, `exec "$@" -c listen_addresses=* -c unix_socket_directories=`+"\n")
	withDatabase(t, servers.Postgres, own)
	f, err := os.OpenFile(filepath.Join(own, "data", "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("host all all all trust\n")
	must(t, err)
	must(t, f.Close())
	files := []string{"/bin/sh", program, "/usr/share/zoneinfo/UTC"}
	for _, what := range []string{"--pkglibdir", "--sharedir"} {
		dir, err := exec.Command(filepath.Join(filepath.Dir(program), "pg_config"), what).Output()
		if err != nil {
			t.Skip("pg_config fails: apt install libpq-dev")
		}
		files = append(files, strings.TrimSpace(string(dir)))
	}
	importImage(t, servers.Postgres, files, own, starts, "ENV PATH="+filepath.Dir(program), "ENV PGDATA=/data", "USER "+uidOfPostgres(t))
}

// dockerStores checks that each store starts in a container, reports counters, and keeps acknowledged writes when it is
// killed. It is part of TestDocker, because testcontainers uses only one daemon per process.
func dockerStores(t *testing.T) {
	for store, provide := range map[string]func(*testing.T){servers.Etcd: importEtcd, servers.ZooKeeper: importZooKeeper, servers.MySQL: importMariaDB, servers.Postgres: importPostgres} {
		t.Run(store, func(t *testing.T) {
			provide(t)
			g, err := Start(t.Context(), servers.Spec{How: servers.Docker, Store: store})
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
				t.Error("it is alive after Kill")
			}
		})
	}
}

// keepsInContainer writes a value, then kills and restarts the server. The value must be readable afterwards.
func keepsInContainer(t *testing.T, g *servers.Group, store string) {
	t.Helper()
	if store == servers.Etcd || store == servers.ZooKeeper {
		must(t, quorumClientOf(t, g, store).write("key", "kept"))
		must(t, g.Nodes[0].Restart(t.Context()))
		if value, err := quorumClientOf(t, g, store).read("key"); value != "kept" {
			t.Errorf("value %q, %v", value, err)
		}
		return
	}
	execute(t, clientOf(t, g.Nodes[0]), "CREATE TABLE kept (n INTEGER)")
	execute(t, clientOf(t, g.Nodes[0]), "INSERT INTO kept VALUES (42)")
	must(t, g.Nodes[0].Restart(t.Context()))
	var kept int
	if err := clientOf(t, g.Nodes[0]).QueryRowContext(t.Context(), "SELECT n FROM kept").Scan(&kept); err != nil || kept != 42 {
		t.Errorf("value %d, %v", kept, err)
	}
}
