package scenarios

// ofNetworks lists the scenarios in which messages are lost or late.
var ofNetworks = []Scenario{
	{
		Name:    "check-then-delete",
		Warning: "GET, a comparison and DEL are three steps; compare and delete in one script",
		Doc: "A reads its own token and sends DEL, which is delayed until A's lease has expired and B has the lock. DEL then deletes " +
			"B's key, and C is granted the lock. A script that compares and deletes is refused.",
		Parts: []Part{
			{Locks: "set-px-getdel set-px-lua redisson fenced", Fault: "delayed-release"},
			{Locks: "set-px-getdel", Fault: "pause-in-release"},
		},
	},
	{
		Name:    "lost-reply-orphans",
		Warning: "no answer does not mean no: the server may have done what it was asked",
		Doc: "The server sets the key, and the reply is lost with its connection. The client does not know that it holds the lock. A " +
			"key without a lease then stays forever.",
		Parts: []Part{
			{Locks: "setnx set-px-lua redisson redlock fenced", Fault: "lost-reply"},
			{Locks: "set-px-lua", Fault: "lost-reply-silent"},
		},
	},
	{
		Name:    "lost-wakeup",
		Warning: "pub/sub guarantees no delivery: a waiter must also poll",
		Doc:     "All notifications are lost. Waiters that rely on them alone would wait forever.",
		Parts:   []Part{{Locks: "redisson fenced", Fault: "lost-wakeup"}},
	},
	{
		Name:    "cut-off-holder",
		Warning: "a holder that cannot reach the server must stop before its lease expires",
		Doc: "A holder is cut off from the server for longer than a lease. It can neither renew nor release; the next client is " +
			"granted the lock after the lease. Of five servers it is cut off from two, which changes nothing.",
		Parts: []Part{
			{Locks: "set-px-lua redisson redlock fenced", Fault: "partition"},
			{Locks: "set-px-lua redisson fenced", Fault: "partition-one-way"},
		},
	},
	{
		Name:    "bad-weather",
		Warning: "a lock must exclude even if the network or the server is slow",
		Doc: "Every command and every reply takes longer than usual; and, in other trials, the server is paused for half a lease. In " +
			"neither may two clients hold the lock at once.",
		Parts: []Part{
			{Locks: "set-px-lua redisson redlock fenced", Fault: "slow-network"},
			{Locks: "set-px-lua redisson fenced", Fault: "server-pause"},
		},
	},
}

// ofServers lists the scenarios in which a server loses its record of a lock.
var ofServers = []Scenario{
	{
		Name:    "restarted-server-forgets",
		Warning: "Redis without persistence restarts empty, so that a held lock is free",
		Doc: "The server is killed while A holds, and starts again. B is granted the lock at once. With appendonly and fsync at " +
			"every command the key is back with the server. Fencing tokens that are counted in the same memory restart at 1; those " +
			"derived from the server's clock keep rising, and the guarded resource refuses A.",
		Parts: []Part{{Locks: "set-px-lua redisson fenced fenced-counter set-ifeq set-px-lua@durable fenced@durable fenced-counter@durable", Fault: "server-restart"}},
	},
	{
		Name:    "failover-loses-lock",
		Warning: "replication is asynchronous: the replica that takes over may not know of the lock",
		Doc: "The link to the replica is stalled, A is granted the lock, the primary is killed, and the replica takes over. B is " +
			"granted the lock there while A holds it, with the same fencing token as A if tokens are only counted. If the replica " +
			"had received every write, nothing happens.",
		Parts: []Part{
			{Locks: "setnx set-px-lua redisson fenced fenced-counter set-ifeq", Fault: "failover"},
			{Locks: "set-px-lua redisson fenced", Fault: "failover-synced"},
		},
	},
	{
		Name:    "wait-is-not-consensus",
		Warning: "WAIT means that some replica has the write, not that the promoted one has",
		Doc: "A lock that grants only after one replica has acknowledged, on a primary with two. One of them acknowledges; the " +
			"other, which is behind, takes over. If the one that acknowledged takes over, the hold survives.",
		Parts: []Part{
			{Locks: "set-px-wait", Fault: "failover"},
			{Locks: "set-px-wait", Fault: "failover-synced"},
		},
	},
	{
		Name:    "sentinel-failover",
		Warning: "Sentinels restore the service, not the lock",
		Doc: "As failover-loses-lock, but three Sentinels notice that the primary is gone, agree, and promote a replica, which takes " +
			"them a second or more.",
		Parts: []Part{{Locks: "set-px-lua@sentinel", Fault: "failover"}},
	},
	{
		Name:    "cluster-failover",
		Warning: "a cluster stores each key on one primary: its six servers do not vote",
		Doc: "A Redis Cluster of three primaries, each with a replica. The primary that has the lock's key dies before its replica " +
			"has received the grant, and the replica takes over: B is granted the lock while A holds it. The other four servers are " +
			"not asked. If the replica had received every write, nothing happens.",
		Parts: []Part{
			{Locks: "set-px-lua@cluster redisson@cluster", Fault: "failover"},
			{Locks: "set-px-lua@cluster redisson@cluster", Fault: "failover-synced"},
		},
	},
}

// ofTime lists the scenarios with server faults that can change or delete a lease. A server's clock jumps, or the server
// evicts a key, restarts without its data, or is down.
var ofTime = []Scenario{
	{
		Name:    "clock-jump-frees-early",
		Warning: "leases end by the server's clock, which can jump",
		Doc: "The server's clock is set forward by two leases while A holds. The key expires at once, and B is granted the lock. " +
			"Keys without a lease stay; fencing tokens keep rising.",
		Parts: []Part{{Locks: "set-px-lua redisson fenced setnx set-ifeq", Fault: "clock-forward"}},
	},
	{
		Name:    "clock-steps-back",
		Warning: "a clock that is set back makes a dead holder's lease last",
		Doc:     "The server's clock is set back by a minute, and the holder dies. Its key stays for the minute and the lease.",
		Parts:   []Part{{Locks: "set-px-lua fenced", Fault: "clock-back"}},
	},
	{
		Name:    "memory-pressure-evicts",
		Warning: "a server that may evict keys may evict the lock",
		Doc:     "The server runs short of memory under the policy allkeys-lru, and drops the key of the lock while it is held.",
		Parts:   []Part{{Locks: "set-px-lua redisson fenced fenced-counter set-ifeq", Fault: "eviction"}},
	},
	{
		Name:    "restarted-node-forgets",
		Warning: "RedLock: a server that crashes after a grant and restarts empty can vote twice",
		Doc: "A is cut off from two of five servers while it acquires exactly three. They heal, and one of A's three restarts empty. " +
			"B is granted by that one and the other two, while A holds.",
		Parts: []Part{{Locks: "redlock", Fault: "node-restart"}},
	},
	{
		Name:    "delayed-restart",
		Warning: "RedLock: a crashed server must stay away for longer than the longest lease",
		Doc:     "As restarted-node-forgets, but the server that crashed restarts when every lease that it may have forgotten has expired.",
		Parts:   []Part{{Locks: "redlock@five-delayed", Fault: "node-restart"}},
	},
	{
		Name:    "clock-jump-on-one-node",
		Warning: "RedLock: a clock that jumps on one server lets two clients reach a majority",
		Doc: "A is cut off from two of five servers while it acquires exactly three. They heal, and the clock of one of A's three " +
			"jumps beyond the lease. B is granted by that one and the other two, while A holds.",
		Parts: []Part{{Locks: "redlock", Fault: "clock-forward"}},
	},
	{
		Name:    "minority-down",
		Warning: "RedLock tolerates two dead servers of five",
		Doc:     "Two of five servers are dead from the beginning. Clients are still granted the lock, one at a time.",
		Parts:   []Part{{Locks: "redlock", Fault: "minority-down"}},
	},
}

// ofStores lists the scenarios with locks that are stored as a database row or a document.
var ofStores = []Scenario{
	{
		Name:    "row-without-an-owner",
		Warning: "a row or a document that means \"locked\" stays when the client that inserted it has died",
		Doc: "The process of a holder is killed. The row stays, since no process deletes it and it has no expiry. With an expiry by " +
			"the server's clock, the next client takes the row over in one statement.",
		Parts: []Part{
			{Locks: "mysql-row mysql-row-ttl mongodb-plain mongodb ferretdb", Fault: "holder-kill"},
			{Locks: "mysql-row mongodb-plain", Fault: "holder-abandon"},
			{Locks: "mysql-row", Fault: "partition"},
		},
	},
	{
		Name:    "expiry-in-a-database",
		Warning: "an expiry column is a lease like any other: it may expire during the work",
		Doc: "A works for one and a half times its lease. B takes the row over, as it may. A's write undoes B's; A's DELETE compares " +
			"the token and leaves B's row alone.",
		Parts: []Part{
			{Locks: "mysql-row-ttl mongodb ferretdb", Fault: "holder-stall"},
			{Locks: "mysql-row-ttl mongodb ferretdb", Fault: "process-pause"},
		},
	},
}

// ofSessions lists the scenarios with locks that the store releases when a session ends.
var ofSessions = []Scenario{
	{
		Name:    "session-ended",
		Warning: "a lock held by a session ends with the session, and its holder must learn of it",
		Doc: "The server ends the holder's session: an administrator, a limit, a restarted proxy. The lock is free at once, and the " +
			"next client is granted it, while A works on and notices nothing until it uses its session again.",
		Parts: []Part{{Locks: "mysql-getlock postgres-advisory etcd", Fault: "session-kill"}},
	},
	{
		Name:    "half-open",
		Warning: "a server does not notice that the host of a session has gone, until TCP times out",
		Doc: "The holder's process is killed with its network cut. To the server the connection looks alive, and it keeps the lock: " +
			"for hours, at the defaults of an operating system. A session timeout, if there is one, ends the session.",
		Parts: []Part{{Locks: "mysql-getlock postgres-advisory zookeeper etcd", Fault: "half-open"}},
	},
	{
		Name:    "abandoned-session",
		Warning: "a session lives as long as its process, and so does a lock that is never released",
		Doc: "A client goes away without releasing: an exception, an early return. Its process lives on, and so do its connection " +
			"and its heartbeats.",
		Parts: []Part{{Locks: "mysql-getlock postgres-advisory zookeeper zookeeper-herd etcd", Fault: "holder-abandon"}},
	},
	{
		Name:    "unlock-through-the-pool",
		Warning: "an unlock that goes through a connection pool lands on a session that holds nothing",
		Doc: "pg_advisory_unlock on another connection answers false, with a warning in the server's log, and the lock stays with a " +
			"session that lives as long as the pool does.",
		Parts: []Part{{Locks: "postgres-advisory-pool postgres-advisory", Fault: "none"}},
	},
	{
		Name:    "session-outlived",
		Warning: "a coordination service ends the session of a paused process, and cannot stop the process",
		Doc: "The process of a holder is paused for longer than its session timeout. The next client is granted the lock; the first " +
			"resumes and writes. With the creation order of nodes as a fencing token, the guarded resource refuses the late write.",
		Parts: []Part{
			{Locks: "zookeeper zookeeper-herd etcd", Fault: "process-pause"},
			{Locks: "zookeeper zookeeper-herd etcd", Fault: "process-pause", Workload: "write-fenced"},
		},
	},
	{
		Name:    "leader-lost",
		Warning: "a write on one server is lost with it; a write on a majority is not",
		Doc: "The leader of three dies while a client holds, and another takes over: it knows of the hold, since a majority did. A " +
			"Redis replica that takes over may not have received it.",
		Parts: []Part{{Locks: "zookeeper etcd", Fault: "leader-loss"}, {Locks: "set-px-lua redisson", Fault: "failover"}},
	},
}
