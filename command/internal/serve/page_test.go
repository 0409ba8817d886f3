package serve

import (
	"context"
	"math"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPage: the page loads nothing from elsewhere, and a real browser shows the answer.
func TestPage(t *testing.T) {
	r := start(t, nil)
	a, body := r.send(http.MethodGet, "/", "", nil)
	if a.StatusCode != http.StatusOK || !strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("status %d, policy %q", a.StatusCode, a.Header.Get("Content-Security-Policy"))
	}
	for _, file := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(body), -1) {
		if a, _ := r.send(http.MethodGet, file[1], "", nil); a.StatusCode != http.StatusOK || !strings.HasPrefix(file[1], "/") {
			t.Errorf("%s: status %d", file[1], a.StatusCode)
		}
	}
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium, which shows the page")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dom, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--virtual-time-budget=20000", "--dump-dom", r.url+"/").Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	m := r.models["numbers"].Task.Inputs.Mean
	shown, want := 0.0, r.predicted("numbers", m...).Mean[0]
	if text := regexp.MustCompile(`y = (\S+) ±`).FindSubmatch(dom); text != nil {
		shown, _ = strconv.ParseFloat(string(text[1]), 64)
	}
	if math.Abs(shown-want) > 0.01 {
		t.Errorf("the browser shows %g, expected %g", shown, want)
	}
	for _, part := range []string{`class="band"`, `class="line"`, "would vanish with more data", "median ", "50 % from "} {
		if !strings.Contains(string(dom), part) {
			t.Errorf("the browser does not show %q", part)
		}
	}
}
