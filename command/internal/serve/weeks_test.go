package serve

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla/data"
)

// weeksOf is a server with labels of 60 days, of which the input a of the last ten days has moved, and the labels with it. The environment
// variable VALLA_WEEKS names a file for the page.
func weeksOf(t *testing.T, tokens ...string) *running {
	t.Helper()
	const first = 1_750_000_000
	day := 0
	r := start(t, func(o *Options) {
		o.Outcomes, o.Tokens = t.TempDir(), tokens
		o.now = func() time.Time { return time.Unix(first+int64(day)*dayLength, 0) }
	}, "numbers", "classes")
	for ; day < 60; day++ {
		set := table("numbers", 60, uint64(day))
		if day >= 50 {
			for i, x := range set.X.Float64s() {
				if i%2 == 0 {
					set.X.Float64s()[i] = 2 + x/3
				}
			}
		}
		r.collect(set, tokens...)
	}
	day--
	return r
}

// collect posts the rows of a set with their targets.
func (r *running) collect(set *data.Set, tokens ...string) {
	r.t.Helper()
	a, body := r.send(http.MethodPost, "/models/numbers/outcomes", "application/json", []byte(withTargets(set, 0)), "Authorization", "Bearer "+strings.Join(tokens, ""))
	if a.StatusCode != http.StatusOK {
		r.t.Fatalf("status %d, %s", a.StatusCode, body)
	}
}

// TestWeeks: the page has the coverage, the widths and the drift of the last weeks, and loads nothing from elsewhere.
func TestWeeks(t *testing.T) {
	r := weeksOf(t)
	a, body := r.send(http.MethodGet, "/outcomes", "", nil)
	page := string(body)
	if a.StatusCode != http.StatusOK || !strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Fatalf("status %d, policy %q", a.StatusCode, a.Header.Get("Content-Security-Policy"))
	}
	for _, file := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if file[1] != "/page.css" {
			t.Errorf("the page loads %s", file[1])
		}
	}
	if n := strings.Count(page, "<circle"); n != 3*mostDays-3 { // the first three days have too few rows for the drift
		t.Errorf("%d dots, expected %d", n, 3*mostDays-3)
	}
	for _, part := range []string{"3600 labels", "13 Aug 2025", "<tr><th>a</th>", "420 labels of the last seven days", "a large change", "last 500 labels</th><td>9"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if path := os.Getenv("VALLA_WEEKS"); path != "" {
		css, err := web.ReadFile("web/page.css")
		if err != nil {
			t.Fatal(err)
		}
		put(t, path, []byte(strings.Replace(page, `<link rel="stylesheet" href="/page.css">`, "<style>"+string(css)+"</style>", 1)))
	}
	if strings.Contains(page, "%!") {
		t.Error("the page has a number of a wrong kind")
	}
	for path, status := range map[string]int{"/models/numbers/outcomes": 200, "/models/classes/outcomes": 404, "/models/other/outcomes": 404} {
		if a, body := r.send(http.MethodGet, path, "", nil); a.StatusCode != status {
			t.Errorf("%s: status %d, %s", path, a.StatusCode, body)
		}
	}
}

// TestWeeksToken: a browser sends the token as the password of a dialogue, which opens this page alone.
func TestWeeksToken(t *testing.T) {
	r := start(t, func(o *Options) { o.Outcomes, o.Tokens = t.TempDir(), []string{"secret"} }, "numbers")
	for _, c := range []struct {
		user, path string
		status     int
	}{{"", "/outcomes", 401}, {"me:wrong", "/outcomes", 401}, {"me:secret", "/outcomes", 200}, {"me:secret", "/metrics", 401}} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if user, password, ok := strings.Cut(c.user, ":"); ok {
			q.SetBasicAuth(user, password)
		}
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if asks := strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Basic"); a.StatusCode != c.status || asks != (c.status == 401 && c.path == "/outcomes") {
			t.Errorf("%+v: status %d, asks %v", c, a.StatusCode, asks)
		}
	}
}

// TestDays: days hold their labels, the oldest ones go, and a clock that goes back opens none.
func TestDays(t *testing.T) {
	m := trained(t, "numbers", filepath.Join(t.TempDir(), "m.valla"), 1)
	o := &outcomes{train: newDrift(m.Profile())}
	for i := range 100 {
		o.count(outcome{Time: int64(i) * dayLength, Width: 2, X: []float64{0, 100}}, true)
		o.count(outcome{Time: int64(i)*dayLength - 5*dayLength, Width: math.MaxFloat64, X: []float64{0, 100}}, false)
		o.count(outcome{Time: int64(i) * dayLength, Width: math.MaxFloat64, X: []float64{0, 100}}, false)
	}
	d := o.days[len(o.days)-1]
	if len(o.days) != mostDays || d.Day != 99 || d.Labels != 3 || d.Inside != 1 || d.Width != math.MaxFloat64 {
		t.Errorf("%d days, the last one %+v", len(o.days), d)
	}
	if psi, rows := o.psi(44, 99); rows != 168 || psi != nil {
		t.Errorf("%d rows, %v", rows, psi)
	}
	if err := o.checkDays(); err != nil {
		t.Error(err)
	}
	for _, bad := range []day{{Labels: 1, Inside: 2}, {Counts: [][]int{{1}}}} {
		o.days[3] = bad
		if err := o.checkDays(); err == nil {
			t.Error(fmt.Sprint(bad), "was taken")
		}
	}
}
