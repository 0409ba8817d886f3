package fetch_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/go-valla/valla/data/internal/fetch"
)

// The caller shows the progress. Here the mirror is a server in this program.
func ExampleGet() {
	content := "x,y\n1,2\n"
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, content)
	}))
	defer mirror.Close()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	set := fetch.Dataset{
		Name:    "line",
		Mirrors: []string{mirror.URL},
		Files: []fetch.File{{
			Name: "line.csv", Size: int64(len(content)), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(content))),
		}},
	}
	err = fetch.Get(context.Background(), set, fetch.Options{Dir: dir, OnProgress: func(file string, done, total int64) {
		fmt.Printf("%s: %d of %d bytes\n", file, done, total)
	}})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// line.csv: 0 of 8 bytes
	// line.csv: 8 of 8 bytes
}
