package bench

import "syscall"

// rawConn is what net's connections are beneath.
type rawConn = syscall.RawConn
