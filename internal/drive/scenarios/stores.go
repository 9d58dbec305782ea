package scenarios

// ofStores are those of locks in a row or a document.
func ofStores() []Scenario {
	return []Scenario{
		{
			Name:    "row-without-an-owner",
			Warning: "a row or a document that means \"locked\" stays when whoever inserted it has died",
			Doc: "The process of a holder is killed. The row is there, nobody will delete it, and no clock of the server ends it. " +
				"With an expiry that the server's own clock decides on, the next takes the row over in one statement.",
			Parts: []Part{
				{Locks: "mysql-row mysql-row-ttl mongodb-plain mongodb ferretdb", Fault: "holder-kill"},
				{Locks: "mysql-row mongodb-plain", Fault: "holder-abandon"},
				{Locks: "mysql-row", Fault: "partition"},
			},
		},
		{
			Name:    "expiry-in-a-database",
			Warning: "an expiry column is a lease like any other: work outlasts it",
			Doc: "A works for half as long again as the expiry it wrote. B takes the row over, as it may. A's write undoes B's; " +
				"its DELETE compares the token and frees nobody else's.",
			Parts: []Part{
				{Locks: "mysql-row-ttl mongodb ferretdb", Fault: "holder-stall"},
				{Locks: "mysql-row-ttl mongodb ferretdb", Fault: "process-pause"},
			},
		},
	}
}

// ofSessions are those of locks that live as long as a session.
func ofSessions() []Scenario {
	return []Scenario{
		{
			Name:    "session-ended",
			Warning: "a lock that a session holds is gone when the session is, and its holder must be told",
			Doc: "The server ends the holder's session: an administrator, a limit, a restarted proxy. The lock is free at once, and the next " +
				"is granted it, while A is at work and knows of nothing until it speaks to its session again.",
			Parts: []Part{{Locks: "mysql-getlock postgres-advisory etcd", Fault: "session-kill"}},
		},
		{
			Name:    "half-open",
			Warning: "a server does not notice that the host of a session has gone, until TCP gives up",
			Doc: "The holder's process is killed where its server cannot hear of it. To the server the connection looks as it did, and " +
				"so does the lock: hours, at the defaults of an operating system. Where sessions have a timeout of their own, it ends them.",
			Parts: []Part{{Locks: "mysql-getlock postgres-advisory zookeeper etcd", Fault: "half-open"}},
		},
		{
			Name:    "abandoned-session",
			Warning: "a session lives as long as its process, and what nobody releases any more stays with it",
			Doc: "A client goes away without releasing: an exception, an early return. Its process lives on, and so do its connection " +
				"and its heartbeats.",
			Parts: []Part{{Locks: "mysql-getlock postgres-advisory zookeeper zookeeper-herd etcd", Fault: "holder-abandon"}},
		},
		{
			Name:    "unlock-through-the-pool",
			Warning: "an unlock that goes through a connection pool lands on a session that holds nothing",
			Doc: "pg_advisory_unlock on another connection answers false, with a warning in a log that nobody reads, and the lock stays " +
				"with a session that lives as long as the pool does.",
			Parts: []Part{{Locks: "postgres-advisory-pool postgres-advisory", Fault: "none"}},
		},
		{
			Name:    "session-outlived",
			Warning: "a coordination service ends the session of a process that stands still, and cannot stop the process",
			Doc: "The process of a holder is stopped for longer than its session lasts. The next is granted; the first goes on and writes. " +
				"With the order in which nodes were created as a fencing token, what is guarded refuses the late write.",
			Parts: []Part{
				{Locks: "zookeeper zookeeper-herd etcd", Fault: "process-pause"},
				{Locks: "zookeeper zookeeper-herd etcd", Fault: "process-pause", Workload: "write-fenced"},
			},
		},
		{
			Name:    "leader-lost",
			Warning: "what one server has acknowledged is lost with it; what a majority has, is not",
			Doc: "The leader of three dies while a client holds, and another takes over: it knows of the hold, since a majority did. " +
				"A Redis replica that takes over may not have heard of it.",
			Parts: []Part{{Locks: "zookeeper etcd", Fault: "leader-loss"}, {Locks: "set-px-lua redisson", Fault: "failover"}},
		},
	}
}
