package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"

	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// password contains a character that must be escaped in a URL. passwordInURL is its escaped form. The constant secret
// is the beginning of both forms; tests search their output for it.
const password, passwordInURL, secret = "s3same/gate", "s3same%2Fgate", "s3same"

// TestExternal runs testdata/external/*.txtar, which test the lockbench command with external servers.
func TestExternal(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/external",
		RequireExplicitExec: true,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PASSWORD", password)
			env.Setenv("IN_URL", passwordInURL)
			// Each script has a separate folder for temporary files. Otherwise, the command "lockbench clean" in one
			// script would find the folders of other scripts.
			env.Setenv("TMPDIR", filepath.Join(env.WorkDir, "tmp"))
			return os.Mkdir(filepath.Join(env.WorkDir, "tmp"), 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "appears": appears, "within": within,
			"redis": startRedis, "store": store, "stored": stored, "ran": ran, "tells": tells, "silent": silent,
			"mariadb": startMariaDB, "row": row, "rows": rows},
	})
}

// condition evaluates the script conditions [missing:redis-server], [missing:tls] and [missing:mariadbd]. If
// LOCKBENCH_REQUIRE names a missing program, condition returns an error.
func condition(cond string) (bool, error) {
	what, ok := strings.CutPrefix(cond, "missing:")
	if !ok {
		return false, fmt.Errorf("unknown condition %q", cond)
	}
	program, product := "redis-server", "redis-server"
	if what == "mariadbd" {
		program, product = what, "mariadb"
	}
	_, err := exec.LookPath(program)
	missing := err != nil
	if what == "tls" && !missing {
		// redis-server reports only the first unknown argument. If this is --no-such-option, the server knows the
		// argument --tls-port, which comes first.
		out, _ := exec.Command("redis-server", "--port", "0", "--tls-port", "0", "--no-such-option", "1").CombinedOutput()
		missing = !bytes.Contains(out, []byte("'no-such-option"))
	}
	if missing && slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), product) {
		return true, fmt.Errorf("%s is missing, and LOCKBENCH_REQUIRE names it", what)
	}
	return missing, nil
}

// startRedis implements the script command "redis [tls]". It starts a server with a password and sets ADDR. With the
// argument tls, it also sets TLS_ADDR and writes ca.pem.
func startRedis(ts *testscript.TestScript, _ bool, args []string) {
	g, err := stores.Start(context.Background(), servers.Spec{How: servers.Local, Store: servers.Redis})
	ts.Check(err)
	ts.Defer(func() { ts.Check(g.Stop()) })
	opts, err := redis.ParseURL(g.URLs()[0])
	ts.Check(err)
	admin := redis.NewClient(opts)
	ts.Defer(func() { admin.Close() })
	config := []any{"config", "set", "requirepass", password}
	if len(args) > 0 {
		port := freePort(ts)
		ts.Setenv("TLS_ADDR", "127.0.0.1:"+port)
		makeCertificate(ts)
		config = append(config, "tls-port", port, "tls-auth-clients", "no", "tls-cert-file", ts.MkAbs("ca.pem"),
			"tls-key-file", ts.MkAbs("key.pem"), "tls-ca-cert-file", ts.MkAbs("ca.pem"))
	}
	ts.Check(admin.Do(context.Background(), config...).Err())
	opts.Password = password
	ts.Check(redis.NewClient(opts).ConfigResetStat(context.Background()).Err())
	ts.Setenv("ADDR", opts.Addr)
}

// port implements the script command "port", which sets PORT to the number of a free port.
func port(ts *testscript.TestScript, _ bool, _ []string) { ts.Setenv("PORT", freePort(ts)) }

func freePort(ts *testscript.TestScript) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// makeCertificate writes a self-signed certificate for 127.0.0.1 to ca.pem, and its private key to key.pem.
func makeCertificate(ts *testscript.TestScript) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	ts.Check(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	for file, block := range map[string]*pem.Block{"ca.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		ts.Check(os.WriteFile(ts.MkAbs(file), pem.EncodeToMemory(block), 0o600))
	}
}

func admin(ts *testscript.TestScript) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: ts.Getenv("ADDR"), Password: password})
	ts.Defer(func() { c.Close() })
	return c
}

// store implements the script command "store KEY...", which sets keys on the server. Tests check that lockbench does
// not change these keys.
func store(ts *testscript.TestScript, _ bool, keys []string) {
	for _, key := range keys {
		ts.Check(admin(ts).Set(context.Background(), key, "precious", 0).Err())
	}
}

// stored implements the script command "stored PATTERN N", which waits until exactly N keys on the server match the
// pattern.
func stored(ts *testscript.TestScript, _ bool, args []string) {
	var keys []string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		keys, err = admin(ts).Keys(context.Background(), args[0]).Result()
		ts.Check(err)
		if fmt.Sprint(len(keys)) == args[1] {
			return
		}
	}
	ts.Fatalf("%d keys like %s, want %s: %q", len(keys), args[0], args[1], keys)
}

// ran implements the script command "ran COMMAND...", which checks that the server has received each of the Redis
// commands. "! ran COMMAND..." checks that the server has received none of them.
//
// A script must use the command "ran" before the command "stored", because "stored" sends Redis commands too.
func ran(ts *testscript.TestScript, neg bool, commands []string) {
	info, err := admin(ts).Info(context.Background(), "commandstats").Result()
	ts.Check(err)
	for _, command := range commands {
		if strings.Contains(info, "cmdstat_"+command+":") == neg {
			ts.Fatalf("%s: was it sent? %t\n%s", command, !neg, info)
		}
	}
}

// within implements the script command "within DURATION CODE PROGRAM ARGS...". It fails if the exit code of the program
// is not CODE, or if the program runs longer than DURATION.
func within(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	start := time.Now()
	exits(ts, neg, args[1:])
	if took := time.Since(start); took > limit {
		ts.Fatalf("it took %v, want %v at most", took, limit)
	}
}

// silent implements the script command "silent". It starts a TCP listener that never answers, and sets SILENT to the
// address of the listener.
func silent(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv("SILENT", l.Addr().String())
}

// tells implements the script command "tells [DIR...]", which checks that the password occurs in the output or in a
// file of the folders. "! tells [DIR...]" checks that the password occurs nowhere.
func tells(ts *testscript.TestScript, neg bool, args []string) {
	found := map[string]bool{"stdout": strings.Contains(ts.ReadFile("stdout"), secret), "stderr": strings.Contains(ts.ReadFile("stderr"), secret)}
	for _, dir := range args {
		ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := unpacked(path)
			found[path] = bytes.Contains(text, []byte(secret)) || strings.Contains(path, secret)
			return err
		}))
	}
	told := false
	for where, found := range found {
		if told = told || found; found && neg {
			ts.Fatalf("the password is in %s", where)
		}
	}
	if !neg && !told || len(args) > 0 && len(found) < 10 {
		ts.Fatalf("told: %t, in %d places", told, len(found))
	}
}

func unpacked(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(path, ".zst") {
		return text, err
	}
	r, err := zstd.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
