// Package fakemongo stands in for MongoDB in tests: commands of its protocol go in, and come out answered from memory,
// one at a time, as MongoDB's documentation has it. It knows what the locks and the sweeping send, and refuses
// everything else. It shows that they send what they mean and read what they are answered; of MongoDB it shows nothing.
package fakemongo

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// A client's first question is in the form that older servers know.
const (
	inOldForm       wiremessage.OpCode = 2004
	answerInOldForm wiremessage.OpCode = 1
)

// Server is one that listens on a private port of 127.0.0.1.
type Server struct {
	listener net.Listener
	running  sync.WaitGroup

	mu        sync.Mutex // held while a command is carried out; guards what follows
	documents map[string]map[string]bson.D
	calls     map[string]int
	conns     map[net.Conn]bool
	closed    bool
}

// Start starts one; it ends with Close.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{listener: l, documents: map[string]map[string]bson.D{}, calls: map[string]int{}, conns: map[net.Conn]bool{}}
	s.running.Go(s.accept)
	return s, nil
}

// URL is where it listens.
func (s *Server) URL() string { return "mongodb://" + s.listener.Addr().String() }

// Calls are how often each command was asked for.
func (s *Server) Calls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}

// Names are those of the documents of a collection ("database.collection").
func (s *Server) Names(collection string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.documents[collection] {
		names = append(names, name)
	}
	return names
}

// Close ends every connection, and returns when nothing runs any more.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	err := s.listener.Close()
	s.running.Wait()
	return err
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed {
			conn.Close()
		}
		s.conns[conn] = true
		s.mu.Unlock()
		s.running.Go(func() { s.serve(conn) })
	}
}

// serve answers what comes on one connection until it ends.
func (s *Server) serve(conn net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
		conn.Close()
	}()
	for r := bufio.NewReader(conn); ; {
		id, op, command, err := readCommand(r)
		if err != nil {
			return
		}
		body, err := bson.Marshal(s.answer(command))
		if err != nil {
			return
		}
		if _, err := conn.Write(frame(id, op, body)); err != nil {
			return
		}
	}
}

// frame is an answer as it goes over the wire: a question in the old form, of a handshake, has one in the old form.
func frame(to int32, op wiremessage.OpCode, body []byte) []byte {
	var message []byte
	if op == inOldForm {
		_, message = wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), to, answerInOldForm)
		message = append(message, make([]byte, 4+8+4)...) // flags, cursor, where it starts
		message = append(message, 1, 0, 0, 0)             // documents
	} else {
		_, message = wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), to, wiremessage.OpMsg)
		message = wiremessage.AppendMsgFlags(message, 0)
		message = wiremessage.AppendMsgSectionType(message, wiremessage.SingleDocument)
	}
	message = append(message, body...)
	binary.LittleEndian.PutUint32(message, uint32(len(message)))
	return message
}

// readCommand reads one, with the documents that came beside it as an array in it.
func readCommand(r io.Reader) (id int32, op wiremessage.OpCode, command bson.D, err error) {
	head := make([]byte, 16)
	if _, err = io.ReadFull(r, head); err != nil {
		return 0, 0, nil, err
	}
	length, id, _, op, _, _ := wiremessage.ReadHeader(head)
	if length < 16 || length > 1<<24 {
		return 0, 0, nil, errors.New("a message of an impossible length")
	}
	rest := make([]byte, length-16)
	if _, err = io.ReadFull(r, rest); err != nil {
		return 0, 0, nil, err
	}
	if op == inOldForm { // flags, a name that ends with a zero, two numbers, the command
		end := bytes.IndexByte(rest[min(4, len(rest)):], 0)
		if end < 0 || len(rest) < 4+end+1+8 {
			return 0, 0, nil, errors.New("a message that is cut off")
		}
		return id, op, command, bson.Unmarshal(rest[4+end+1+8:], &command)
	}
	_, rest, _ = wiremessage.ReadMsgFlags(rest)
	for len(rest) > 0 {
		kind, after, _ := wiremessage.ReadMsgSectionType(rest)
		if kind == wiremessage.SingleDocument {
			doc, after, ok := wiremessage.ReadMsgSectionSingleDocument(after)
			if !ok {
				return 0, 0, nil, errors.New("a message that is cut off")
			}
			if err := bson.Unmarshal(doc, &command); err != nil {
				return 0, 0, nil, err
			}
			rest = after
			continue
		}
		name, docs, after, ok := wiremessage.ReadMsgSectionDocumentSequence(after)
		if !ok {
			return 0, 0, nil, errors.New("a message that is cut off")
		}
		all := bson.A{}
		for _, doc := range docs {
			var d bson.D
			if err := bson.Unmarshal(doc, &d); err != nil {
				return 0, 0, nil, err
			}
			all = append(all, d)
		}
		command, rest = append(command, bson.E{Key: name, Value: all}), after
	}
	if len(command) == 0 {
		return 0, 0, nil, fmt.Errorf("a message of kind %v without a command", op)
	}
	return id, op, command, nil
}
