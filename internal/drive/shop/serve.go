package shop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"lockbench/impls"
)

// longestLine bounds the first line of either side.
const longestLine = 1 << 20

// Serve is a service's process: it reads an Opening, opens the lock, says where it listens, and serves until its input ends.
func Serve(in io.Reader, out io.Writer, open func(lock string, env impls.Env) (impls.Lock, error)) error {
	lines := bufio.NewReaderSize(io.LimitReader(in, longestLine), 4096)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return tell(out, fmt.Errorf("the first line cannot be read: %w", err))
	}
	var o Opening
	if json.Unmarshal(text, &o) != nil { // its text might quote the line, which has secrets in it
		return tell(out, errors.New("the first line is no opening of a shop"))
	}
	lock, err := open(o.Lock, impls.Env{Nodes: o.Nodes, CAFile: o.CAFile, Prefix: o.Prefix, Process: o.Process, Params: o.Params,
		Rand: impls.NewRand(o.Seed, uint64(o.Process))})
	if err != nil {
		return tell(out, err)
	}
	defer lock.Close()
	s, err := NewService(o, lock)
	if err != nil {
		return tell(out, err)
	}
	defer s.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return tell(out, err)
	}
	if err := json.NewEncoder(out).Encode(ready{Address: listener.Addr().String()}); err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, in) // it ends with whoever started it, at the latest
		server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// tell says why there is no service, also to whoever waits for its address.
func tell(out io.Writer, why error) error {
	return errors.Join(why, json.NewEncoder(out).Encode(ready{Error: why.Error()}))
}
