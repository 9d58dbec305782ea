package fakemongo

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The codes of MongoDB's errors.
const (
	duplicateKey    = 11000
	commandNotFound = 59
	badValue        = 2
	exprInUpsert    = 224
)

// failure is an answer that says that a command failed.
type failure struct {
	code int32
	text string
}

func (f failure) Error() string { return f.text }

// answer carries one command out.
func (s *Server) answer(command bson.D) bson.D {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := command[0].Key
	s.calls[name]++
	var answer bson.D
	var err error
	switch name {
	case "hello", "isMaster", "ismaster":
		answer = bson.D{{Key: "ismaster", Value: true}, {Key: "isWritablePrimary", Value: true}, {Key: "helloOk", Value: true},
			{Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: int32(25)}, {Key: "maxBsonObjectSize", Value: int32(1 << 24)},
			{Key: "maxMessageSizeBytes", Value: int32(48000000)}, {Key: "maxWriteBatchSize", Value: int32(100000)}}
	case "buildInfo":
		answer = bson.D{{Key: "version", Value: "0.0.0-fake"}}
	case "ping", "endSessions":
	case "serverStatus":
		answer = s.status()
	case "findAndModify":
		answer, err = s.findAndModify(command)
	case "update":
		answer, err = s.each(command, "updates", s.update)
	case "delete":
		answer, err = s.each(command, "deletes", s.delete)
	case "find":
		answer, err = s.find(command)
	default:
		err = failure{commandNotFound, "no such command: '" + name + "'"}
	}
	if err != nil {
		f, ok := err.(failure)
		if !ok {
			f = failure{badValue, err.Error()}
		}
		return bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: f.text}, {Key: "code", Value: f.code}}
	}
	return append(answer, bson.E{Key: "ok", Value: 1.0})
}

func (s *Server) status() bson.D {
	counts := bson.D{}
	for name, n := range s.calls {
		counts = append(counts, bson.E{Key: name, Value: bson.D{{Key: "total", Value: int64(n)}}})
	}
	return bson.D{{Key: "version", Value: "0.0.0-fake"}, {Key: "metrics", Value: bson.D{{Key: "commands", Value: counts}}}}
}

// collection is the one that a command names.
func (s *Server) collection(command bson.D) map[string]bson.D {
	name := fmt.Sprintf("%v.%v", field(command, "$db"), command[0].Value)
	if s.documents[name] == nil {
		s.documents[name] = map[string]bson.D{}
	}
	return s.documents[name]
}

// now is the server's clock, for one command.
func now() bson.DateTime { return bson.NewDateTimeFromTime(time.Now()) }

func (s *Server) findAndModify(command bson.D) (bson.D, error) {
	all, at := s.collection(command), now()
	filter, _ := field(command, "query").(bson.D)
	upsert, _ := field(command, "upsert").(bool)
	if upsert && field(filter, "$expr") != nil {
		return nil, failure{exprInUpsert, "$expr is not allowed in the query predicate for an upsert"}
	}
	found, err := first(all, filter, at)
	if err != nil {
		return nil, err
	}
	inserts := found == nil
	if inserts {
		if !upsert {
			return bson.D{{Key: "value", Value: nil}}, nil
		}
		id := field(filter, "_id")
		if _, taken := all[fmt.Sprint(id)]; taken {
			return nil, failure{duplicateKey, "E11000 duplicate key error"}
		}
		found = bson.D{{Key: "_id", Value: id}}
	}
	after, err := updated(found, field(command, "update"), inserts, at)
	if err != nil {
		return nil, err
	}
	all[fmt.Sprint(field(after, "_id"))] = after
	return bson.D{{Key: "value", Value: after}}, nil
}

// each carries out the parts of a command that has several, and counts them.
func (s *Server) each(command bson.D, name string, do func(all map[string]bson.D, part bson.D) (int, error)) (bson.D, error) {
	parts, _ := field(command, name).(bson.A)
	total := 0
	for _, p := range parts {
		n, err := do(s.collection(command), p.(bson.D))
		if err != nil {
			return nil, err
		}
		total += n
	}
	return bson.D{{Key: "n", Value: int32(total)}, {Key: "nModified", Value: int32(total)}}, nil
}

func (s *Server) update(all map[string]bson.D, part bson.D) (int, error) {
	filter, _ := field(part, "q").(bson.D)
	at := now()
	found, err := first(all, filter, at)
	if err != nil || found == nil {
		return 0, err
	}
	after, err := updated(found, field(part, "u"), false, at)
	if err == nil {
		all[fmt.Sprint(field(after, "_id"))] = after
	}
	return 1, err
}

func (s *Server) delete(all map[string]bson.D, part bson.D) (int, error) {
	filter, _ := field(part, "q").(bson.D)
	removed := 0
	for id, doc := range all {
		match, err := matches(doc, filter, now())
		if err != nil {
			return removed, err
		}
		if !match {
			continue
		}
		delete(all, id)
		removed++
		if fmt.Sprint(field(part, "limit")) == "1" {
			break
		}
	}
	return removed, nil
}

func (s *Server) find(command bson.D) (bson.D, error) {
	filter, _ := field(command, "filter").(bson.D)
	projection, _ := field(command, "projection").(bson.D)
	batch, at := bson.A{}, now()
	for _, doc := range s.collection(command) {
		match, err := matches(doc, filter, at)
		if err != nil {
			return nil, err
		}
		if !match {
			continue
		}
		shown, err := projected(doc, projection, at)
		if err != nil {
			return nil, err
		}
		batch = append(batch, shown)
	}
	return bson.D{{Key: "cursor", Value: bson.D{{Key: "id", Value: int64(0)}, {Key: "ns", Value: "a.b"}, {Key: "firstBatch", Value: batch}}}}, nil
}
