package redact

import (
	"reflect"
	"testing"
	"time"
)

type holder struct {
	Text   string
	hidden string
	At     time.Time
	Lines  []string
	Next   *holder
	Header map[string]string
	Any    map[string]any
	Raw    []byte
}

func TestStrings(t *testing.T) {
	is := holder{
		Text: "password=hunter2", hidden: "password=hunter2", At: time.Unix(1, 0), Lines: []string{"ok", "token=abc"}, Raw: []byte("token=abc"),
		Next: &holder{Text: "fine"}, Header: map[string]string{"Authorization": "x", "Server": "nginx"},
		Any: map[string]any{"a": []any{"DB_PASS=x1"}, "n": 1},
	}
	want := holder{
		Text: "password=" + Mark, hidden: "password=hunter2", At: time.Unix(1, 0), Lines: []string{"ok", "token=" + Mark}, Raw: []byte("token=abc"),
		Next: is.Next, Header: map[string]string{"Authorization": Mark, "Server": "nginx"},
		Any: map[string]any{"a": []any{"DB_PASS=" + Mark}, "n": 1},
	}
	before := is.Lines[1]
	if got := Strings(is); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if is.Lines[1] != before || is.Header["Authorization"] != "x" {
		t.Error("what was given is changed")
	}
}

// The name of an image is no name with a value.
func TestImagesStay(t *testing.T) {
	type pod struct{ Image, ImageID, Said string }
	of := pod{"token-api:v2", "secret-store@sha256:ab", "password=hunter2"}
	if got := Strings(of); got.Image != of.Image || got.ImageID != of.ImageID || got.Said != "password="+Mark {
		t.Errorf("%+v", got)
	}
}
