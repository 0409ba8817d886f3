package command_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/go-valla/valla/command/internal/serve/oip"
)

// served is a running valla serve.
type served struct {
	cmd *exec.Cmd
	url string
	out *bufio.Reader
	err strings.Builder
}

// serving starts valla serve with a port that is free.
func serving(t *testing.T, dir string, args ...string) *served {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no signals to other processes")
	}
	s := &served{cmd: program(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	s.cmd.Dir, s.cmd.Stderr = dir, &s.err
	s.started(t)
	return s
}

// started starts the command and waits for its address.
func (s *served) started(t *testing.T) {
	t.Helper()
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	line, err := s.out.ReadString('\n')
	if err != nil {
		_ = s.cmd.Wait()
		t.Fatalf("valla serve says nothing: %v, %s", err, &s.err)
	}
	s.url = strings.TrimSpace(line)
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
}

// end sends SIGTERM and returns the exit code.
func (s *served) end(t *testing.T) int {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// rooms writes a small table and its model, houses.valla.
func rooms(t *testing.T, dir string) {
	t.Helper()
	var csv strings.Builder
	csv.WriteString("rooms,age,price\n")
	for i := range 60 {
		csv.WriteString(strings.Join([]string{num(i % 7), num(i % 11), num(10*(i%7) - i%11 + i%3)}, ",") + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "houses.csv"), []byte(csv.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, dir, "train", "houses.csv", "--target", "price", "--hidden", "5", "--iterations", "50", "--out", "map.valla")
	must(t, dir, "fit", "houses.csv", "--model", "map.valla", "--method", "lla", "--structure", "kfac", "--out", "houses.valla")
}

func num(i int) string { b, _ := json.Marshal(i); return string(b) }

// TestServeCommand: a server answers, lets SIGTERM end it, and has written a log of JSON.
func TestServeCommand(t *testing.T) {
	dir := t.TempDir()
	rooms(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "tokens"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serving(t, dir, "--model", "other=houses.valla", "--token-file", "tokens", "--log", "json")
	q, err := http.NewRequest(http.MethodPost, s.url+"/models/other/predict", strings.NewReader(`[[3,4]]`))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer two")
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(a.Body)
	a.Body.Close()
	if a.StatusCode != http.StatusOK || !strings.Contains(string(body), `"mean"`) {
		t.Errorf("status %d: %s", a.StatusCode, body)
	}
	if code := s.end(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM: %s", code, &s.err)
	}
	logged, last := 0, ""
	for _, line := range strings.Split(strings.TrimSpace(s.err.String()), "\n") {
		var entry struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("log line %q: %v", line, err)
		}
		if last = entry.Msg; last == "request" {
			logged++
		}
	}
	if last != "ended" {
		t.Errorf("the last line of the log is %q, expected ended", last)
	}
	if logged != 1 {
		t.Errorf("%d requests in the log, expected 1", logged)
	}
	fails(t, dir, 2, "no --model", "serve")
	fails(t, dir, 2, "--queue 0", "serve", "--model", "houses.valla", "--queue", "0")
	fails(t, dir, 2, "--timeout -1s, expected a time above 0", "serve", "--model", "houses.valla", "--timeout", "-1s")
	fails(t, dir, 2, "--reload 0", "serve", "--model", "houses.valla", "--reload", "0s")
	fails(t, dir, 2, "--outcome-level 0, expected a probability above 0 and below 1", "serve", "--model", "houses.valla", "--outcomes", ".", "--outcome-level", "0")
	fails(t, dir, 2, "--outcome-level goes with --outcomes", "serve", "--model", "houses.valla", "--outcome-level", "0.9")
	fails(t, dir, 2, "--outcome-rows goes with --outcomes", "serve", "--model", "houses.valla", "--outcome-rows", "9")
	fails(t, dir, 2, "--log", "serve", "--model", "houses.valla", "--log", "xml")
	fails(t, dir, 2, "expected both or neither", "serve", "--model", "houses.valla", "--tls-cert", "x")
	fails(t, dir, 1, "no such file", "serve", "--model", "none.valla", "--listen", "127.0.0.1:0")
	fails(t, dir, 1, "--listen", "serve", "--model", "houses.valla", "--listen", "127.0.0.1:x")
	if err := os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, dir, 1, "empty: no tokens", "serve", "--model", "houses.valla", "--token-file", "empty")
}

// TestServeEndsUnderLoad: after SIGTERM each request is answered whole, with a prediction or 503, or
// finds nobody there; then the server ends without an error.
func TestServeEndsUnderLoad(t *testing.T) {
	dir := t.TempDir()
	rooms(t, dir)
	s := serving(t, dir, "--model", "houses.valla", "--log", "off", "--grace", "200ms")
	var answered, refused atomic.Int64
	var ending atomic.Bool
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for {
				a, err := http.Post(s.url+"/predict", "application/json", strings.NewReader(`[[3,4]]`))
				if err != nil && !ending.Load() {
					t.Error(err)
				}
				if err != nil {
					return
				}
				body, err := io.ReadAll(a.Body)
				a.Body.Close()
				switch {
				case err != nil:
					t.Errorf("status %d, cut off after %q: %v", a.StatusCode, body, err)
				case a.StatusCode == http.StatusOK && strings.Contains(string(body), `"mean"`):
					answered.Add(1)
				case a.StatusCode == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "":
					refused.Add(1)
				default:
					t.Errorf("status %d: %s", a.StatusCode, body)
				}
			}
		})
	}
	for answered.Load() < 100 && !t.Failed() {
		time.Sleep(time.Millisecond)
	}
	ending.Store(true)
	if code := s.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, &s.err)
	}
	clients.Wait()
	if refused.Load() == 0 {
		t.Error("no request was told that the server ends")
	}
}

// TestServeEncrypted: HTTP and gRPC answer behind a certificate, and a new one takes its place at once.
func TestServeEncrypted(t *testing.T) {
	dir := t.TempDir()
	rooms(t, dir)
	known := selfSigned(t, dir)
	s := serving(t, dir, "--model", "houses.valla", "--grpc", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
	config := &tls.Config{RootCAs: known}
	a, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: config}}).Get(s.url + "/v2/health/live")
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("answer %v, error %v", a, err)
	}
	a.Body.Close()
	renewed := &tls.Config{RootCAs: selfSigned(t, dir)} // which takes the place of the files
	if a, err = (&http.Client{Transport: &http.Transport{TLSClientConfig: renewed}}).Get(s.url + "/v2/health/live"); err != nil {
		t.Fatalf("after the renewal: %v", err)
	}
	a.Body.Close()
	config = renewed
	line, err := s.out.ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "grpcs://")
	if err != nil || !found {
		t.Fatalf("line %q, error %v", line, err)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ready, err := oip.NewGRPCInferenceServiceClient(conn).ModelReady(t.Context(), &oip.ModelReadyRequest{Name: "houses"})
	if err != nil || !ready.Ready {
		t.Errorf("ready %v, error %v", ready, err)
	}
	conn.Close()
	if code := s.end(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM: %s", code, &s.err)
	}
	fails(t, dir, 1, "--grpc", "serve", "--model", "houses.valla", "--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:x")
}

// selfSigned writes cert.pem and key.pem for this machine, and returns who to trust.
func selfSigned(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	for name, b := range map[string][]byte{"cert.pem": text, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

// TestServingDocument runs the commands of docs/serving.md.
func TestServingDocument(t *testing.T) {
	dir := servingHouses(t)
	if asked := runServing(t, dir, "serving.md", "sh", "--model", "houses.valla"); asked < 5 {
		t.Errorf("%d commands were run", asked)
	}
}

// TestOnlineDocument runs the commands of docs/online.md that talk to a server, and those that follow them.
func TestOnlineDocument(t *testing.T) {
	dir := servingHouses(t)
	must(t, dir, "calibrate", "docs/data/houses-held.csv", "--model", "houses.valla", "--method", "conformal", "--out", "calibrated.valla")
	if asked := runServing(t, dir, "online.md", "sh server", "--model", "houses=calibrated.valla", "--outcomes", "labels", "--outcome-level", "0.95"); asked < 6 {
		t.Errorf("%d commands were run", asked)
	}
}

// servingHouses returns a folder with the model of the README.
func servingHouses(t *testing.T) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl, which the document uses")
	}
	dir = t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "docs", "data"), os.DirFS(filepath.Join("..", "docs", "data"))); err != nil {
		t.Fatal(err)
	}
	must(t, dir, "train", "docs/data/houses.csv", "--target", "price", "--iterations", "50", "--out", "map.valla")
	must(t, dir, "fit", "docs/data/houses.csv", "--model", "map.valla", "--method", "lla", "--out", "houses.valla")
	return dir
}

// runServing runs the blocks of a kind of a page, with a server that has some flags, and returns how many commands it ran.
func runServing(t *testing.T, dir, page, kind string, flags ...string) (asked int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var s *served
	for _, block := range regexp.MustCompile("(?ms)^```"+kind+"\n(.*?)^```").FindAllSubmatch(text, -1) {
		for _, line := range strings.Split(strings.TrimSpace(string(block[1])), "\n") {
			switch words := strings.Fields(line); {
			case strings.HasPrefix(line, "valla serve "):
				for _, flag := range flags {
					if page != "serving.md" && !slices.Contains(words, flag) {
						t.Errorf("%s: %q lacks %s", page, line, flag)
					}
				}
				s = serving(t, dir, append(flags, "--log", "off")...)
				continue
			case words[0] == "valla":
				if r := run(t, dir, globbed(t, dir, words[1:])...); r.code != 0 {
					t.Errorf("%s: exit code %d, %s", line, r.code, r.stderr)
				}
			default:
				askServer(t, dir, strings.Replace(line, "http://127.0.0.1:8080", address(s), 1))
			}
			asked++
		}
	}
	if s.end(t) != 0 {
		t.Errorf("the server: %s", &s.err)
	}
	return asked
}

// address is the address of a server; "" if none has started.
func address(s *served) string {
	if s == nil {
		return ""
	}
	return s.url
}

// globbed returns words with those that have a * as the paths that match.
func globbed(t *testing.T, dir string, words []string) (out []string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(w, "*") {
			out = append(out, w)
			continue
		}
		files, err := filepath.Glob(filepath.Join(dir, w))
		if err != nil || len(files) == 0 {
			t.Fatalf("no file %s, error %v", w, err)
		}
		for _, f := range files {
			f, err = filepath.Rel(dir, f)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, f)
		}
	}
	return out
}

// askServer runs a line of a document in a shell; curl must have an answer with predictions, labels or a page.
func askServer(t *testing.T, dir, line string) {
	t.Helper()
	curl := strings.Contains(line, "curl ")
	if curl {
		line += " --fail-with-body"
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || curl && !regexp.MustCompile("mean|quantiles|limit|<svg").Match(out) {
		t.Errorf("%s: %v, %s", line, err, out)
	}
}
