package strictjson_test

import (
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/strictjson"
)

// TestDecode: a document is read as a whole or not at all.
func TestDecode(t *testing.T) {
	for text, want := range map[string]string{`{"a": 3}`: "", " {\"a\": 3}\n": "", `{"b": 3}`: "unknown field", `{"a": 3} 4`: "text after its end", `{"a": 3}}`: "text after its end", `{"a": `: "EOF", "": "EOF"} {
		var v struct {
			A int `json:"a"`
		}
		switch err := strictjson.Decode([]byte(text), &v); {
		case want == "" && (err != nil || v.A != 3):
			t.Errorf("%q: %+v, error %v", text, v, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: error %v, expected %q", text, err, want)
		}
	}
}
