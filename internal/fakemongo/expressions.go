package fakemongo

import (
	"cmp"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// field is that of a document; nil where there is none.
func field(doc bson.D, name string) any {
	for _, e := range doc {
		if e.Key == name {
			return e.Value
		}
	}
	return nil
}

// with is a document with a field set.
func with(doc bson.D, name string, value any) bson.D {
	out := append(bson.D{}, doc...)
	for i := range out {
		if out[i].Key == name {
			out[i].Value = value
			return out
		}
	}
	return append(out, bson.E{Key: name, Value: value})
}

// first is a document that a filter finds; nil: none.
func first(all map[string]bson.D, filter bson.D, at bson.DateTime) (bson.D, error) {
	for _, doc := range all {
		if match, err := matches(doc, filter, at); match || err != nil {
			return doc, err
		}
	}
	return nil, nil
}

// matches tells whether a filter finds a document.
func matches(doc, filter bson.D, at bson.DateTime) (bool, error) {
	for _, f := range filter {
		if f.Key == "$expr" {
			is, err := eval(doc, f.Value, at)
			if err != nil || is != true {
				return false, err
			}
			continue
		}
		bounds, isOperators := f.Value.(bson.D)
		if !isOperators {
			bounds = bson.D{{Key: "$eq", Value: f.Value}}
		}
		for _, b := range bounds {
			is, err := compared(b.Key, field(doc, f.Key), b.Value)
			if err != nil || !is {
				return false, err
			}
		}
	}
	return true, nil
}

// compared is what an operator says of two values, in MongoDB's order: nothing, numbers, texts, times.
func compared(operator string, a, b any) (bool, error) {
	order := cmp.Compare(rank(a), rank(b))
	if order == 0 {
		switch a := a.(type) {
		case string:
			order = cmp.Compare(a, b.(string))
		case bson.DateTime:
			order = cmp.Compare(a, b.(bson.DateTime))
		default:
			order = cmp.Compare(number(a), number(b))
		}
	}
	switch operator {
	case "$eq":
		return order == 0, nil
	case "$lt":
		return order < 0, nil
	case "$lte":
		return order <= 0, nil
	case "$gt":
		return order > 0, nil
	case "$gte":
		return order >= 0, nil
	}
	return false, fmt.Errorf("unknown operator: %s", operator)
}

func rank(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case string:
		return 2
	case bson.DateTime:
		return 3
	}
	return 1
}

func number(v any) int64 {
	switch v := v.(type) {
	case int32:
		return int64(v)
	case int64:
		return v
	case bson.DateTime:
		return int64(v)
	}
	return 0
}

// eval is what an expression comes to.
func eval(doc bson.D, e any, at bson.DateTime) (any, error) {
	switch e := e.(type) {
	case string:
		if e == "$$NOW" {
			return at, nil
		}
		if name, isField := strings.CutPrefix(e, "$"); isField {
			return field(doc, name), nil
		}
		return e, nil
	case bson.D:
		return operate(doc, e, at)
	}
	return e, nil
}

func operate(doc, e bson.D, at bson.DateTime) (any, error) {
	args, _ := e[0].Value.(bson.A)
	var values []any
	for _, a := range args {
		v, err := eval(doc, a, at)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	switch {
	case e[0].Key == "$cond" && len(values) == 3:
		if values[0] == true {
			return values[1], nil
		}
		return values[2], nil
	case e[0].Key == "$add" && len(values) == 2:
		return bson.DateTime(number(values[0]) + number(values[1])), nil
	case e[0].Key == "$subtract" && len(values) == 2:
		return number(values[0]) - number(values[1]), nil
	case len(values) == 2:
		return compared(e[0].Key, values[0], values[1])
	}
	return nil, fmt.Errorf("unknown expression: %s", e[0].Key)
}

// updated is a document after an update: operators, or a pipeline whose expressions see the document as it was.
func updated(doc bson.D, update any, inserted bool, at bson.DateTime) (bson.D, error) {
	stages, isPipeline := update.(bson.A)
	if !isPipeline {
		stages = bson.A{update}
	}
	after := doc
	for _, s := range stages {
		stage, ok := s.(bson.D)
		if !ok || len(stage) != 1 {
			return nil, fmt.Errorf("an update of one operator is wanted")
		}
		fields, _ := stage[0].Value.(bson.D)
		before := after
		for _, f := range fields {
			value := f.Value
			switch {
			case stage[0].Key == "$set" && isPipeline:
				var err error
				if value, err = eval(before, value, at); err != nil {
					return nil, err
				}
			case stage[0].Key == "$set":
			case stage[0].Key == "$setOnInsert" && !isPipeline:
				if !inserted {
					continue
				}
			default:
				return nil, fmt.Errorf("unknown operator: %s", stage[0].Key)
			}
			after = with(after, f.Key, value)
		}
	}
	return after, nil
}

// projected is what is shown of a document.
func projected(doc, projection bson.D, at bson.DateTime) (bson.D, error) {
	if len(projection) == 0 {
		return doc, nil
	}
	shown := bson.D{{Key: "_id", Value: field(doc, "_id")}}
	for _, p := range projection {
		value := field(doc, p.Key)
		if e, computed := p.Value.(bson.D); computed {
			var err error
			if value, err = eval(doc, e, at); err != nil {
				return nil, err
			}
		}
		if p.Key != "_id" && value != nil {
			shown = append(shown, bson.E{Key: p.Key, Value: value})
		}
	}
	return shown, nil
}
