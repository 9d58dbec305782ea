package yamlfile

import "reflect"

// Schema returns the JSON schema of a mapping with the given configuration keys. For names and durations, the schema
// restricts only the format: it contains no lists of valid names and no bounds of durations.
func Schema(keys []Key) map[string]any {
	properties, together := map[string]any{}, map[string]any{}
	for _, k := range keys {
		properties[k.Name] = k.schema()
		if k.With != "" {
			together[k.Name] = []string{k.With}
		}
	}
	out := map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "required": required(keys)}
	if len(together) > 0 {
		out["dependentRequired"] = together
	}
	return out
}

func (k Key) schema() map[string]any {
	one := k.value()
	if k.List {
		many := map[string]any{"type": "array", "items": one, "minItems": 1, "maxItems": maxList, "uniqueItems": true}
		if k.Empty {
			delete(many, "minItems")
		}
		if k.Form == Mapping {
			one = many
		} else {
			one = map[string]any{"oneOf": []any{one, many}}
		}
	}
	one["description"] = k.Doc
	return one
}

// value returns the schema of a key's value, or of one entry of a list.
func (k Key) value() map[string]any {
	name := map[string]any{"type": "string", "pattern": cleanWord}
	switch k.Form {
	case Text:
		return map[string]any{"type": "string"}
	case Choice:
		if k.Values != nil {
			return map[string]any{"enum": k.Values}
		}
	case Whole:
		number := map[string]any{"type": "integer", "minimum": k.Min, "maximum": k.Top}
		if k.Instead != "" {
			return map[string]any{"oneOf": []any{number, map[string]any{"const": k.Instead}}}
		}
		return number
	case Number:
		return map[string]any{"type": "number", "minimum": k.Min, "maximum": k.Max}
	case Span:
		text := map[string]any{"type": "string", "pattern": `^\+?(0|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`}
		return map[string]any{"oneOf": []any{text, map[string]any{"const": 0}}}
	case Flag:
		return map[string]any{"type": "boolean"}
	case Mapping:
		return Schema(k.Keys())
	case Placed:
		name["pattern"] = placedWord
		if k.Of != nil {
			return map[string]any{"oneOf": []any{name, Schema(k.Keys())}}
		}
	case Pairs:
		return map[string]any{"type": "object", "minProperties": 1, "propertyNames": name,
			"additionalProperties": map[string]any{"type": []string{"string", "number", "boolean"}}}
	}
	return name
}

// Keys returns the keys of a nested mapping, for documentation.
func (k Key) Keys() []Key {
	of := reflect.TypeOf(k.Into).Elem()
	if k.List {
		of = of.Elem()
	}
	return k.Of(reflect.New(of).Interface())
}
