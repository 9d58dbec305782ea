package servers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// longestAnswer is far more than any answer to askMongo has.
const longestAnswer = 1 << 20

// askMongo has a server that speaks MongoDB's protocol run one command, on a connection of its own: a client library
// would add commands of its own to what is counted.
func askMongo(ctx context.Context, addr string, command bson.D) (bson.Raw, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // as in askInfo
	body, err := bson.Marshal(command)
	if err != nil {
		return nil, err
	}
	_, message := wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), 0, wiremessage.OpMsg)
	message = wiremessage.AppendMsgFlags(message, 0)
	message = wiremessage.AppendMsgSectionType(message, wiremessage.SingleDocument)
	message = append(message, body...)
	binary.LittleEndian.PutUint32(message, uint32(len(message)))
	if _, err := conn.Write(message); err != nil {
		return nil, err
	}
	return readMongo(conn)
}

// readMongo reads one answer; one that says that it failed is an error.
func readMongo(conn io.Reader) (bson.Raw, error) {
	size := make([]byte, 4)
	if _, err := io.ReadFull(conn, size); err != nil {
		return nil, err
	}
	const head = 16 + 4 + 1 // header, flags, kind of section
	length := binary.LittleEndian.Uint32(size)
	if length < head || length > longestAnswer {
		return nil, errors.New("it does not answer as MongoDB does")
	}
	rest := make([]byte, length-4)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return nil, err
	}
	answer := bson.Raw(rest[head-4:])
	if err := answer.Validate(); err != nil {
		return nil, fmt.Errorf("it does not answer as MongoDB does: %w", err)
	}
	if ok, _ := answer.Lookup("ok").AsFloat64OK(); ok != 1 {
		text, _ := answer.Lookup("errmsg").StringValueOK()
		return nil, fmt.Errorf("it answers: %s", text)
	}
	return answer, nil
}
