package yamlfile

import (
	"errors"
	"slices"
	"strings"
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

func TestDecodeJSON(t *testing.T) {
	var o outer
	text := "{\"name\":\"x\",\n\t\"many\":[{\"small\":1,\"when\":\"2026-01-02T03:04:05Z\"}],\"any\":[{\"x\":[1]}],\"by\":{\"any\":{\"small\":2}},\"small\":3}"
	if err := DecodeJSON([]byte(text), &o); err != nil || o.Many[0].Small != 1 || o.By["any"].Small != 2 || o.Small != 3 {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestLongJSON checks that the time to read a long file is bounded.
func TestLongJSON(t *testing.T) {
	start := time.Now()
	text := `{"many":[` + strings.Repeat("\n\t{\"small\": 1,\n\t\"when\": \"2026-01-02T03:04:05Z\"},", 3000) + "{}]}"
	if err := DecodeJSON([]byte(text), new(outer)); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestMistakesInJSON(t *testing.T) {
	for text, want := range map[string]string{
		``:                               "1:1: unexpected end of JSON input",
		"{\n\"name\": x}":                "2:9: invalid character 'x' looking for beginning of value",
		`{} {}`:                          "1:4: invalid character '{' after top-level value",
		`[]`:                             "1:1: the file: this is of the kind array, want object",
		`{"nam":"x"}`:                    `unknown field "nam"`,
		`{"Never":1}`:                    `unknown field "Never"`,
		`{"many":[{"name":"x"}]}`:        `unknown field "name"`,
		`{"by":{"x":{"small":"1"}}}`:     "1:21: by.small: this is of the kind string, want a whole number that fits",
		`{"many":[{},{"small":200}]}`:    "1:22: many.small: this is of the kind number 200, want a whole number that fits",
		"{\"name\":\"é\",\"name\":\"\"}": `1:13: this is no JSON: mapping key "name" already defined at [1:2]`,
	} {
		err := DecodeJSON([]byte(text), new(outer))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
		var u *UnknownField
		if errors.As(err, &u) && slices.Contains(u.Known, u.Name) {
			t.Errorf("%s: %q is known", text, u.Name)
		}
	}
}
