package strictjson

import (
	"errors"
	"slices"
	"testing"
	"time"
)

type inner struct {
	Small int8      `json:"small"`
	When  time.Time `json:"when"`
}

type outer struct {
	Name  string           `json:"name"`
	Many  []inner          `json:"many"`
	By    map[string]inner `json:"by"`
	Any   any              `json:"any"`
	Never int              `json:"-"`
	inner
}

func TestDecode(t *testing.T) {
	var o outer
	text, err := Decode([]byte(`{"name":"x","many":[{"small":1}],"by":{"any":{"small":2}},"any":{"x":[1]},"small":3}`), &o)
	if err != nil || o.Many[0].Small != 1 || o.By["any"].Small != 2 || !text.Has("many[0].small") || text.Has("many[1]") {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		``:                               "1:1: unexpected end of JSON input",
		"{\n\"name\": x}":                "2:9: invalid character 'x' looking for beginning of value",
		`{} {}`:                          "1:4: invalid character '{' after top-level value",
		`[]`:                             "1:1: the file: this is of the kind array, want object",
		`{"nam":"x"}`:                    `1:2: unknown field "nam"`,
		`{"Never":1}`:                    `1:2: unknown field "Never"`,
		`{"many":[{"name":"x"}]}`:        `1:11: unknown field "name"`,
		`{"by":{"x":{"small":"1"}}}`:     "1:21: by.x.small: this is of the kind string, want a whole number that fits",
		`{"many":[{},{"small":200}]}`:    "1:22: many[1].small: this is of the kind number 200, want a whole number that fits",
		"{\"name\":\"é\",\"name\":\"\"}": `1:13: the field "name" comes twice`,
	} {
		_, err := Decode([]byte(text), new(outer))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
		var e *Error
		if errors.As(err, &e); e.Field != "" && slices.Contains(e.Known, e.Field) {
			t.Errorf("%s: %q is known", text, e.Field)
		}
	}
}
