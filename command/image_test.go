//go:build linux

package command_test

import (
	"debug/elf"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// building is the command by which the Dockerfile builds the program, and the ids under which it runs.
func building(t *testing.T) (command string, user, group int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	build := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 go build .*) -o /valla (\S+)$`).FindStringSubmatch(string(text))
	ids := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindStringSubmatch(string(text))
	if build == nil || ids == nil || !strings.Contains(string(text), "FROM scratch\n") {
		t.Fatalf("the Dockerfile does not build a program without rights for an empty image:\n%s", text)
	}
	user, _ = strconv.Atoi(ids[1])
	group, _ = strconv.Atoi(ids[2])
	return build[1] + " -o $OUT " + build[2], user, group
}

// shell runs a command in the folder of the Dockerfile.
func shell(t *testing.T, command string, env ...string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Env = "..", append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	return string(out)
}

// TestImageDependencies: nothing in the program of the image loads C libraries, which it does not have.
func TestImageDependencies(t *testing.T) {
	command, _, _ := building(t)
	command = regexp.MustCompile(`go build|-trimpath|-ldflags=\S*|-o \$OUT`).ReplaceAllStringFunc(command, func(s string) string {
		if s == "go build" {
			return "go list -deps"
		}
		return ""
	})
	packages := shell(t, command)
	if !strings.Contains(packages, "github.com/go-valla/valla/internal/openblas\n") {
		t.Fatalf("no packages of ours in %s", packages)
	}
	for _, loader := range []string{"runtime/cgo\n", "github.com/ebitengine/purego\n"} {
		if strings.Contains(packages, loader) {
			t.Errorf("the program of the image has %s", loader)
		}
	}
}

// TestImage builds the program of the image and runs it as there: with nothing else in its file
// system but a model, and without rights. It tells its size and how long it starts.
func TestImage(t *testing.T) {
	if os.Getenv("VALLA_IMAGE") == "" || os.Geteuid() != 0 {
		t.Skip("no VALLA_IMAGE, or no right to change the root of the file system")
	}
	command, user, group := building(t)
	root := t.TempDir()
	rooms(t, root)
	for _, name := range []string{"houses.csv", "map.valla"} {
		if err := os.Remove(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(root, "valla")
	shell(t, command, "OUT="+path)
	for _, name := range []string{filepath.Dir(root), root, path, filepath.Join(root, "houses.valla")} {
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program needs a loader")
		}
	}
	var times []string
	for range 5 {
		times = append(times, startIn(t, root, user, group).Round(time.Millisecond).String())
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB; it answers after %s", float64(info.Size())/1e6, strings.Join(times, ", "))
}

// startIn starts the program with a folder as its root, and returns how long it took until it
// answered.
func startIn(t *testing.T, root string, user, group int) time.Duration {
	t.Helper()
	s := &served{cmd: exec.Command("/valla", "serve", "--model", "/houses.valla", "--listen", "127.0.0.1:0", "--log", "json")}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = "/", []string{}, &s.err
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(group)}}
	start := time.Now()
	s.started(t)
	a, err := http.Post(s.url+"/predict", "application/json", strings.NewReader(`[[3,4]]`))
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	body, _ := io.ReadAll(a.Body)
	a.Body.Close()
	if code := s.end(t); a.StatusCode != http.StatusOK || code != 0 {
		t.Errorf("status %d: %s; exit code %d: %s", a.StatusCode, body, code, &s.err)
	}
	return took
}

// TestManifest: the manifest of docs/serving.md starts the program with flags that it has, and asks
// for its health at its port and paths.
func TestManifest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "serving.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindSubmatch(text)
	if block == nil {
		t.Fatal("no manifest")
	}
	type probe struct {
		HTTPGet struct {
			Path string `yaml:"path"`
			Port int    `yaml:"port"`
		} `yaml:"httpGet"`
	}
	type container struct {
		Name            string              `yaml:"name"`
		Image           string              `yaml:"image"`
		Args            []string            `yaml:"args"`
		Ports           []map[string]any    `yaml:"ports"`
		Env             []map[string]string `yaml:"env"`
		SecurityContext map[string]any      `yaml:"securityContext"`
		ReadinessProbe  probe               `yaml:"readinessProbe"`
		LivenessProbe   probe               `yaml:"livenessProbe"`
		Resources       map[string]any      `yaml:"resources"`
	}
	var m struct {
		APIVersion string            `yaml:"apiVersion"`
		Kind       string            `yaml:"kind"`
		Metadata   map[string]string `yaml:"metadata"`
		Spec       struct {
			Predictor struct {
				Containers []container `yaml:"containers"`
			} `yaml:"predictor"`
		} `yaml:"spec"`
	}
	if err := yaml.UnmarshalWithOptions(block[1], &m, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	if m.APIVersion != "serving.kserve.io/v1beta1" || m.Kind != "InferenceService" || len(m.Spec.Predictor.Containers) != 1 {
		t.Fatalf("manifest %+v", m)
	}
	c := m.Spec.Predictor.Containers[0]
	dir := t.TempDir()
	rooms(t, dir)
	args := append([]string{}, c.Args[1:]...)
	port := ""
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "/mnt/models/", dir+"/")
		if a == "--listen" {
			port = strings.TrimPrefix(args[i+1], ":")
			args[i+1] = "127.0.0.1:0"
		}
	}
	s := serving(t, dir, args...)
	for _, p := range []probe{c.ReadinessProbe, c.LivenessProbe} {
		a, err := http.Get(s.url + p.HTTPGet.Path)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != http.StatusOK || strconv.Itoa(p.HTTPGet.Port) != port {
			t.Errorf("probe %+v: status %d, the server listens at %s", p, a.StatusCode, port)
		}
	}
}
