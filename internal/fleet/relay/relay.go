// Package relay forwards TCP connections with a delay, so that tests on one machine can have distant agents. Listen takes an address
// and a delay, and returns the address to connect to.
package relay

import (
	"io"
	"net"
	"time"
)

// Listen forwards connections to an address until it is closed. What passes is delayed, in both directions.
func Listen(to string, delay time.Duration) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			connect(from, to, delay)
		}
	}()
	return l, nil
}

func connect(from net.Conn, to string, delay time.Duration) {
	dst, err := net.Dial("tcp", to)
	if err != nil {
		from.Close()
		return
	}
	go forward(dst, from, delay)
	go forward(from, dst, delay)
}

// piece is the result of one read.
type piece struct {
	due  time.Time
	text []byte
}

// mostPieces is the number of pieces under way in one direction.
const mostPieces = 1 << 12

// forward copies from one connection to another, each piece after the delay.
func forward(dst io.WriteCloser, src io.ReadCloser, delay time.Duration) {
	pieces := make(chan piece, mostPieces)
	go func() {
		defer dst.Close()
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if _, err := dst.Write(p.text); err != nil {
				src.Close() // ends the loop below
			}
		}
	}()
	defer close(pieces)
	for {
		buffer := make([]byte, 1<<16)
		n, err := src.Read(buffer)
		if n > 0 {
			pieces <- piece{time.Now().Add(delay), buffer[:n]}
		}
		if err != nil {
			return
		}
	}
}
