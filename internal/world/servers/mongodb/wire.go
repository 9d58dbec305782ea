package mongodb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"lockbench/internal/world/servers"
)

// longestAnswer is far more than any answer to Ask has.
const longestAnswer = 1 << 20

// Ask has a server of ours that speaks MongoDB's protocol run one command of the database admin.
func Ask(ctx context.Context, addr string, command bson.D) (answer bson.Raw, err error) {
	body, err := bson.Marshal(append(command, bson.E{Key: "$db", Value: "admin"}))
	if err != nil {
		return nil, err
	}
	_, message := wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), 0, wiremessage.OpMsg)
	message = wiremessage.AppendMsgFlags(message, 0)
	message = wiremessage.AppendMsgSectionType(message, wiremessage.SingleDocument)
	message = append(message, body...)
	binary.LittleEndian.PutUint32(message, uint32(len(message)))
	err = servers.Ask(ctx, addr, func(conn net.Conn) error {
		if _, err := conn.Write(message); err != nil {
			return err
		}
		answer, err = read(conn)
		return err
	})
	return answer, err
}

// read reads one answer; one that says that it failed is an error.
func read(conn io.Reader) (bson.Raw, error) {
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
