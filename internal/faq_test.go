package internal_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFailureMessages: every message that docs/faq.md explains is a message of the program. Its
// parts stand in the program's strings in this order.
func TestFailureMessages(t *testing.T) {
	text, err := os.ReadFile("../docs/faq.md")
	if err != nil {
		t.Fatal(err)
	}
	all, found := stringsOf(t, ".."), 0
	for _, m := range regexp.MustCompile("(?m)^### `(.*)`$").FindAllStringSubmatch(string(text), -1) {
		found++
		var parts []string
		for _, p := range strings.Split(m[1], "…") {
			parts = append(parts, settingsFor(p))
		}
		if !regexp.MustCompile(strings.Join(parts, `[^\n]*`)).MatchString(all) {
			t.Errorf("no message in the code has %q", m[1])
		}
	}
	if found < 20 {
		t.Errorf("%d messages found", found)
	}
}

// settingsFor returns a pattern for a part of a message: where the message has a flag, a library may name the
// setting, which the command translates.
func settingsFor(part string) string {
	valued := regexp.MustCompile(`--([a-z-]+) ([a-z0-9]+)`).ReplaceAllString(regexp.QuoteMeta(part), "(?:--$1 $2|$1=$2|the setting $1 $2)")
	return regexp.MustCompile(`([^:|]|^)--([a-z-]+)`).ReplaceAllString(valued, "$1(?:--$2|the setting $2)")
}

// stringsOf returns all strings of the Go files below dir that are no tests, and of Go's
// encoding/json, which are part of this program's messages, a line for each expression.
func stringsOf(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	all.WriteString("json: unknown field \n")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var s scanner.Scanner
		files := token.NewFileSet()
		s.Init(files.AddFile(path, files.Base(), len(src)), src, nil, 0)
		for {
			_, tok, lit := s.Scan()
			switch tok {
			case token.EOF:
				return nil
			case token.STRING:
				if v, err := strconv.Unquote(lit); err == nil {
					all.WriteString(strings.ReplaceAll(v, "\n", " "))
				}
			case token.ADD: // a string goes on
			default:
				all.WriteByte('\n')
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
