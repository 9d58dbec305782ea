package servers

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// image is what a store is run from in a container.
type image struct {
	store    string
	name     string // pinned
	port     string // that the server listens on in there
	command  []string
	environ  map[string]string
	served   func(*local) product // what it answers as; only what is asked over the network is asked of it
	variable string               // of the environment, which names another image in its place
	// ready does once more what it takes until the server serves, and says why it does not yet; nil: it serves if it tells
	// its counters.
	ready func(context.Context, *local) error
}

// images are all of them; docker-compose.yml has the same.
func images() []image {
	return []image{
		{store: Redis, name: "redis:7.0.15", port: "6379", variable: "LOCKBENCH_REDIS_IMAGE",
			command: []string{"redis-server", "--save", "", "--protected-mode", "no"},
			served:  func(n *local) product { return &redisNode{local: n} }},
		{store: MySQL, name: "mariadb:10.11.14", port: "3306", variable: "LOCKBENCH_MYSQL_IMAGE",
			command: []string{"mariadbd", "--max-connections=1000"},
			environ: map[string]string{"MARIADB_ALLOW_EMPTY_ROOT_PASSWORD": "1", "MARIADB_DATABASE": mariadbDatabase},
			served:  func(n *local) product { return &mariadbNode{n} }},
		{store: Postgres, name: "postgres:15.14", port: "5432", variable: "LOCKBENCH_POSTGRES_IMAGE",
			environ: map[string]string{"POSTGRES_HOST_AUTH_METHOD": "trust", "POSTGRES_DB": postgresDatabase},
			command: []string{"postgres", "-c", "shared_preload_libraries=pg_stat_statements", "-c", "max_connections=300"},
			served:  func(n *local) product { return &postgresNode{local: n} }, ready: postgresCounts},
		{store: MongoDB, name: "mongo:7.0.24", port: "27017", variable: "LOCKBENCH_MONGODB_IMAGE",
			command: []string{"mongod", "--replSet", mongoSet, "--bind_ip_all"},
			served:  func(n *local) product { return &mongoNode{n} }, ready: mongoReady},
		{store: ZooKeeper, name: "zookeeper:3.8.4", port: "2181", variable: "LOCKBENCH_ZOOKEEPER_IMAGE",
			environ: map[string]string{"ZOO_TICK_TIME": "200", "ZOO_MAX_CLIENT_CNXNS": "0", "ZOO_ADMINSERVER_ENABLED": "false",
				"ZOO_4LW_COMMANDS_WHITELIST": "mntr,srvr", "ZOO_CFG_EXTRA": "minSessionTimeout=400 maxSessionTimeout=60000"},
			served: func(n *local) product { return &zooKeeperNode{local: n} }},
		{store: Etcd, name: "quay.io/coreos/etcd:v3.5.21", port: "2379", variable: "LOCKBENCH_ETCD_IMAGE",
			command: []string{"etcd", "--name=one", "--data-dir=/etcd-data", "--heartbeat-interval=10", "--election-timeout=100",
				"--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://127.0.0.1:2379"},
			served: func(n *local) product { return &etcdNode{local: n} }, ready: etcdLeads},
	}
}

// imageOf is what a store is run from; false: there is none.
func imageOf(store string) (image, bool) {
	for _, i := range images() {
		if i.store != store {
			continue
		}
		if other := os.Getenv(i.variable); other != "" {
			i.name = other
		}
		return i, true
	}
	return image{}, false
}

// postgresCounts has it count statements, as one of our own does from the beginning.
func postgresCounts(ctx context.Context, n *local) error {
	return (&postgresNode{local: n}).query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
		return err
	})
}

// etcdLeads asks it whether it leads itself: before that it takes no writes.
func etcdLeads(ctx context.Context, n *local) error {
	leads, err := (&etcdNode{local: n}).leads(ctx)
	if err == nil && !leads {
		err = errors.New("it has not elected itself yet")
	}
	return err
}

// version is the tag of the image.
func (i image) version() string {
	_, tag, _ := strings.Cut(i.name[strings.LastIndex(i.name, "/")+1:], ":")
	return tag
}
