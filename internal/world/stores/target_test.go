package stores

import (
	"fmt"
	"strings"
	"testing"

	"lockbench/internal/world/servers"
)

func TestTargetsHideSecrets(t *testing.T) {
	for _, c := range []struct{ store, text, url, shown string }{
		{servers.MySQL, "mysql://me:s3same%2Fgate@host:3307/db", "mysql://me:s3same%2Fgate@host:3307/db", "mysql://me:***@host:3307/db"},
		{servers.MySQL, "me:s3same/gate@tcp(host:3307)/db", "mysql://me:s3same%2Fgate@host:3307/db", "mysql://me:***@host:3307/db"},
		{servers.MySQL, "me@tcp(host)/db", "mysql://me@host:3306/db", "mysql://***@host:3306/db"},
		{servers.Postgres, "postgresql://me:s3same@host/db?sslmode=disable", "postgres://me:s3same@host:5432/db", "postgres://me:***@host:5432/db"},
		{servers.Postgres, "postgres://s3same@[::1]:1/db", "postgres://s3same@[::1]:1/db", "postgres://***@[::1]:1/db"},
		{servers.MongoDB, "mongodb://host", "mongodb://host:27017", "mongodb://host:27017"},
		{servers.MongoDB, "mongodb://me:s3same@host:1/?authSource=admin&directConnection=true", "mongodb://me:s3same@host:1/?authSource=admin", "mongodb://me:***@host:1/?authSource=admin"},
		{servers.ZooKeeper, "a,b:2182,c", "zookeeper://a:2181", "zookeeper://a:2181,b:2182,c:2181"},
		{servers.Etcd, "http://a:1,b", "etcd://a:1", "etcd://a:1,b:2379"},
		{servers.Etcd, "etcd://me:s3same@a,b", "etcd://me:s3same@a:2379", "etcd://me:***@a:2379,b:2379"},
	} {
		got, err := parse(c.store, c.text, noEnv)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if url := got.URL(got.Hosts()[0]); url != c.url {
			t.Errorf("%s: connects to %s, want %s", c.text, url, c.url)
		}
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			if s := fmt.Sprintf(format, got); s != c.shown {
				t.Errorf("%s of %s: %s, want %s", format, c.text, s, c.shown)
			}
			if s := fmt.Sprintf(format, servers.Remote{Targets: []servers.Target{got}}); strings.Contains(s, "s3same") {
				t.Errorf("%s of %s shows a secret: %s", format, c.text, s)
			}
		}
		if again, err := parse(c.store, got.URL(got.Hosts()[0]), noEnv); err != nil || len(got.Hosts()) == 1 && fmt.Sprint(again) != c.shown {
			t.Errorf("%s cannot be parsed again: %v, %v", c.text, again, err)
		}
	}
}

func TestInvalidTargetsAreNotQuoted(t *testing.T) {
	for store, texts := range map[string][]string{
		servers.MySQL: {"", "s3same", "mysql://u:s3same@host", "mysql://u:%zzs3same@host/db", "u:s3same@unix(/s3same)/db", "u:s3same@tcp(host)/db?s3same=1",
			"mysql://u:s3same@host/db?tls=skip-verify", "postgres://u:s3same@host/db", "mysql://:s3same@host/db", "mysql://u:s3same@a,b/db", "mysql://u:s3same@host/db/s3same"},
		servers.Postgres:  {"postgres://u:s3same@host", "u:s3same@host/db", "postgres://u:s3same@host/db?sslmode=require", "postgres://u:s3same@/db"},
		servers.MongoDB:   {"mongodb+srv://u:s3same@host", "mongodb://u:s3same@a,b", "mongodb://u:s3same@host/?tls=true", "mongodb://u:s3same@host#s3same"},
		servers.ZooKeeper: {"s3same:x@host", "a,a", "a/s3same", "a,,b"},
		servers.Etcd:      {"https://u:s3same@host", "etcd://:s3same@host", "a,a:2379", "etcd://u:s3same@a/s3same"},
		"redis":           {"s3same"},
	} {
		for _, text := range texts {
			got, err := parse(store, text, noEnv)
			if err == nil || strings.Contains(err.Error(), "s3same") {
				t.Errorf("%s %s: %v, %v", store, text, got, err)
			}
		}
	}
}

func TestTargetPasswordsFromEnvironment(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"LOCKBENCH_MYSQL_PASSWORD": "s3same/gate", "LOCKBENCH_MONGODB_PASSWORD": "s3same"}[name]
	}
	for text, want := range map[string]string{
		"mysql://me@host/db":       "mysql://me:s3same%2Fgate@host:3306/db",
		"me@tcp(host)/db":          "mysql://me:s3same%2Fgate@host:3306/db",
		"mysql://me:other@host/db": "mysql://me:other@host:3306/db",
	} {
		if got, err := parse(servers.MySQL, text, env); err != nil || got.URL(got.Hosts()[0]) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := parse(servers.MongoDB, "mongodb://host", env); err == nil || !strings.Contains(err.Error(), "names no user") {
		t.Errorf("a password without a user: %v", err)
	}
	for store, want := range map[string]string{servers.ZooKeeper: "", servers.FerretDB: "", servers.Redis: "LOCKBENCH_REDIS_PASSWORD", servers.Etcd: "LOCKBENCH_ETCD_PASSWORD"} {
		if of, err := Find(store); err != nil || of.PasswordVariable() != want {
			t.Errorf("the password of %s is in %q, %v", store, of.PasswordVariable(), err)
		}
	}
}
