package command_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestOutcomesKills kills valla serve with SIGKILL at random moments while labels come in, as many times as the environment
// variable VALLA_KILLS says, or three times. The file of labels is compacted
// every ten labels. No label may be lost that has its answer.
func TestOutcomesKills(t *testing.T) {
	t.Parallel()
	kills, err := strconv.Atoi(os.Getenv("VALLA_KILLS"))
	if err != nil {
		kills = 3
	}
	dir := t.TempDir()
	rooms(t, dir)
	if err := os.Mkdir(filepath.Join(dir, "labels"), 0o755); err != nil {
		t.Fatal(err)
	}
	rng, known := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)), 0
	for range kills {
		s := serving(t, dir, "--model", "houses.valla", "--outcomes", "labels", "--outcome-rows", "10", "--log", "off")
		now, ok := postOutcome(s.url, rng.IntN(7))
		if !ok || now < known+1 {
			t.Fatalf("%d labels after a start, expected %d or more", now, known+1)
		}
		known = now
		time.AfterFunc(time.Duration(rng.IntN(40))*time.Millisecond, func() { _ = s.cmd.Process.Kill() })
		for {
			if now, ok = postOutcome(s.url, rng.IntN(7)); !ok {
				break
			}
			known = now
		}
		_ = s.cmd.Wait()
	}
	s := serving(t, dir, "--model", "houses.valla", "--outcomes", "labels", "--outcome-rows", "10", "--log", "off")
	if now, ok := postOutcome(s.url, 1); !ok || now < known+1 {
		t.Errorf("%d labels in the end, expected %d or more", now, known+1)
	}
	files, err := filepath.Glob(filepath.Join(dir, "labels", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, error %v", files, err)
	}
	if text, err := os.ReadFile(files[0]); err != nil || bytes.Count(text, []byte("\n")) > 21 {
		t.Errorf("%d lines, expected 21 at most, error %v", bytes.Count(text, []byte("\n")), err)
	}
	t.Logf("%d kills, %d labels", kills, known)
}

// postOutcome posts a label and returns the number of all labels; ok is false without an answer.
func postOutcome(url string, rooms int) (labels int, ok bool) {
	body := fmt.Sprintf(`[{"rooms":%d,"age":3,"price":%d}]`, rooms, 10*rooms)
	a, err := http.Post(url+"/outcomes", "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, false
	}
	defer a.Body.Close()
	raw, err := io.ReadAll(a.Body)
	var doc struct{ Labels int }
	if err != nil || a.StatusCode != http.StatusOK || json.Unmarshal(raw, &doc) != nil {
		return 0, false
	}
	return doc.Labels, true
}
