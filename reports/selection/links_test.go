package selection

import "testing"

func TestLink(t *testing.T) {
	for _, c := range []struct {
		source string
		within []string
		want   string
	}{
		{"../runs/a", []string{"cells/b", "h.jsonl"}, "../runs/a/cells/b/h.jsonl"},
		{"runs/a b", nil, "runs/a%20b"},
		{"runs/a", []string{"x?y#z"}, "runs/a/x%3Fy%23z"},
		{"../../a", nil, "../../a"},
		{"javascript:alert(1)", nil, ""},
		{"../javascript:alert(1)", nil, ""},
		{"//host/a", nil, ""},
		{"/etc", nil, ""},
		{"a/../../b", nil, ""},
		{"runs/a", []string{"../../etc"}, ""},
		{"runs/a", []string{".."}, ""},
		{"runs/a", []string{"b/../../.."}, ""},
		{"runs/a", []string{`b\c`}, ""},
		{"runs/a", []string{"b\u202ec"}, ""},
		{"runs/a", []string{"http://h"}, ""},
		{"runs/a", []string{""}, ""},
		{"", nil, ""},
		{"..", nil, ""},
	} {
		if got := link(c.source, c.within...); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.within, c.source, got, c.want)
		}
	}
}
