package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "v0.1.0-rc.1": "0.1.0rc1", "v0.1.0-alpha2": "0.1.0a2", "v0.1.0-beta.10": "0.1.0b10",
		untagged: "0.0.0.dev0+g0123456789ab", "v1.2": "", "v1.2.3-odd": "",
	} {
		got, err := source{version: version, commit: "0123456789abcdef"}.pythonVersion()
		if got != want || (err == nil) != (want != "") {
			t.Errorf("version %s of %s, want %s; error %v", got, version, want, err)
		}
	}
}

// repository makes a repository with a module, and returns its folder.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module example.com/m\n\ngo 1.26\n")
	put(t, filepath.Join(dir, "m.go"), "package m\n\n// F is one.\nfunc F() int { return 1 }\n")
	git(t, dir, "init", "-q")
	commit(t, dir)
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := write(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	env := []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_AUTHOR_DATE=1700000000 +0100", "GIT_COMMITTER_DATE=1700000000 +0100"}
	if _, err := output(t.Context(), dir, env, "git", args...); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "x")
}

func TestSource(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	dir := repository(t)
	s, err := readSource(t.Context(), dir)
	if err != nil || s.version != untagged || len(s.commit) != 40 || s.date.Unix() != 1700000000 {
		t.Errorf("%+v, error %v", s, err)
	}
	git(t, dir, "tag", "v1.2.3")
	t.Setenv("SOURCE_DATE_EPOCH", "5")
	if s, err = readSource(t.Context(), dir); err != nil || s.version != "v1.2.3" || s.date.Unix() != 5 || !slices.Contains(s.flags(), "-trimpath") {
		t.Errorf("%+v, error %v", s, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, err := readSource(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "yesterday") {
		t.Errorf("error %v", err)
	}
	if _, err := readSource(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder without a repository has a commit")
	}
}

// TestLicensed: there is no release without a licence, unless the caller wants one, which then says so.
func TestLicensed(t *testing.T) {
	dir := t.TempDir()
	if _, err := licensed(dir, false); err == nil || !strings.Contains(err.Error(), "no file LICENSE") {
		t.Errorf("error %v", err)
	}
	if text, err := licensed(dir, true); err != nil || !strings.Contains(text, "no licence") {
		t.Errorf("%q, error %v", text, err)
	}
	put(t, filepath.Join(dir, "LICENSE"), "Do as you like.")
	for _, without := range []bool{false, true} {
		if text, err := licensed(dir, without); err != nil || text != "Do as you like." {
			t.Errorf("%q, error %v", text, err)
		}
	}
}

// TestLicenses: every module has a licence, which is collected, and none that the program does not have.
func TestLicenses(t *testing.T) {
	t.Chdir("../..")
	text, err := licenses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The Go programming language", "gorgonia.org/gorgonia v", "github.com/spf13/cobra v", "github.com/inconshreveable/mousetrap v", "Permission is hereby granted", "Apache License"} {
		if !strings.Contains(text, want) {
			t.Errorf("the licences lack %q", want)
		}
	}
	if strings.Contains(text, "honnef.co/go/tools") {
		t.Error("the licences have a module that is a tool only")
	}
	if err := addLicenses(&strings.Builder{}, dependency{Path: "example.com/m", Dir: t.TempDir()}); err == nil {
		t.Error("a module without a licence is no error")
	}
}

// TestWheel: RECORD has the right sums of all files, the program can be executed, and two wheels are equal.
func TestWheel(t *testing.T) {
	t.Chdir("../..")
	if _, err := readSource(t.Context(), "."); err != nil {
		t.Skipf("this is no checkout: %v", err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	put(t, program, "the program")
	var all [][]byte
	for _, name := range []string{"a", "b"} {
		path, err := makeWheel(t.Context(), "linux/amd64", program, filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if base := filepath.Base(path); !strings.HasPrefix(base, "valla-") || !strings.HasSuffix(base, "-py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64.whl") {
			t.Errorf("wheel %s", base)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if !bytes.Equal(all[0], all[1]) {
		t.Error("two wheels differ")
	}
	if text, err := same(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil || !strings.HasPrefix(text, "equal ") {
		t.Errorf("%q, error %v", text, err)
	}
	checkWheel(t, all[0])
	if _, err := makeWheel(t.Context(), "plan9/amd64", program, dir); err == nil {
		t.Error("there is a wheel for Plan 9")
	}
}

// checkWheel compares the files of a wheel with RECORD.
func checkWheel(t *testing.T, packed []byte) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
		if executable := f.Mode()&0o111 != 0; executable != (f.Name == "valla/bin/valla") || !f.Mode().IsRegular() {
			t.Errorf("%s has the mode %v", f.Name, f.Mode())
		}
		if _, offset := f.Modified.Zone(); offset != 0 || strings.Contains(f.Name, "__pycache__") {
			t.Errorf("%s of %v", f.Name, f.Modified)
		}
	}
	record := z.File[len(z.File)-1].Name
	rows, err := csv.NewReader(strings.NewReader(files[record])).ReadAll()
	if err != nil || len(rows) != len(files) || files["valla/bin/valla"] != "the program" || files["valla/py.typed"] != "" {
		t.Errorf("%d rows for %d files, error %v", len(rows), len(files), err)
	}
	// Indexes refuse fields that are newer than the version of the metadata: License-File is of 2.4.
	if about := files[strings.TrimSuffix(record, "RECORD")+"METADATA"]; !strings.HasPrefix(about, "Metadata-Version: 2.4\n") || !strings.Contains(about, "\nLicense-File: ") {
		t.Errorf("metadata %.200s", about)
	}
	for _, r := range rows {
		text, there := files[r[0]]
		sum := sha256.Sum256([]byte(text))
		want := []string{"sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), strconv.Itoa(len(text))}
		if r[0] == record {
			want = []string{"", ""}
		}
		if !there || !slices.Equal(r[1:], want) {
			t.Errorf("row %q, want %q", r, want)
		}
	}
}

// TestSame: folders that differ in a file, or lack one, are not the same.
func TestSame(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	if _, err := same(a, b); err == nil {
		t.Error("no archives are the same archives")
	}
	for _, dir := range []string{a, b} {
		put(t, filepath.Join(dir, "x.zip"), "x")
		put(t, filepath.Join(dir, "metadata.json"), dir)
	}
	if text, err := same(a, b); err != nil || text != "equal  x.zip\n" {
		t.Errorf("%q, error %v", text, err)
	}
	put(t, filepath.Join(b, "x.zip"), "y")
	put(t, filepath.Join(b, "sub", "z.whl"), "z")
	if text, err := same(a, b); err == nil || text != "DIFFER sub/z.whl\nDIFFER x.zip\n" {
		t.Errorf("%q, error %v", text, err)
	}
}

// TestAPI: without a tag there is nothing to compare; what is judged after 1.0 is what breaks programs.
func TestAPI(t *testing.T) {
	text, err := compareAPI(t.Context(), repository(t))
	if err != nil || !strings.Contains(text, "no tag") {
		t.Errorf("%q, error %v", text, err)
	}
	if text, err := compareAPI(t.Context(), t.TempDir()); err == nil || text != "" {
		t.Errorf("no repository: %q, error %v", text, err)
	}
	const removed = "Incompatible changes:\n- F: removed"
	for _, c := range []struct {
		last, changes, want string
		fails               bool
	}{
		{"v1.0.0", "", "no exported name", false},
		{"v0.3.0", removed, "F: removed", false},
		{"v1.0.0", removed, "F: removed", true},
		{"v1.0.0", "Compatible changes:\n- G: added", "G: added", false},
	} {
		if text, err := judged(c.last, c.changes); (err != nil) != c.fails || !strings.Contains(text, c.want) {
			t.Errorf("%s, %q: %q, error %v", c.last, c.changes, text, err)
		}
	}
}

// TestAPIOfTags runs apidiff, which the module proxy has, on a module with a tag and a change.
func TestAPIOfTags(t *testing.T) {
	if os.Getenv("VALLA_LONG") == "" {
		t.Skip("VALLA_LONG is not set: apidiff is not built")
	}
	dir := repository(t)
	git(t, dir, "tag", "v1.0.0")
	put(t, filepath.Join(dir, "m.go"), "package m\n\n// G is one.\nfunc G() int { return 1 }\n")
	commit(t, dir)
	text, err := compareAPI(t.Context(), dir)
	if err == nil || !strings.Contains(text, "F: removed") || !strings.Contains(text, "G: added") {
		t.Errorf("%q, error %v", text, err)
	}
	if left, err := output(t.Context(), dir, nil, "git", "worktree", "list"); err != nil || strings.Contains(left, "\n") {
		t.Errorf("worktrees %q, error %v", left, err)
	}
}

// TestConfiguration: goreleaser builds for the platforms of the wheels, and both set the variables that the package valla has.
func TestConfiguration(t *testing.T) {
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Builds []struct {
			Goos, Goarch, Flags, Ldflags []string
			Main                         string
		}
	}
	if err := yaml.Unmarshal(text, &c); err != nil || len(c.Builds) != 1 {
		t.Fatalf("%+v, error %v", c, err)
	}
	b := c.Builds[0]
	var all []string
	for _, system := range b.Goos {
		for _, arch := range b.Goarch {
			all = append(all, system+"/"+arch)
		}
	}
	if !slices.Equal(all, platforms) || len(wheelTags) != len(platforms) {
		t.Errorf("platforms %q, want %q", all, platforms)
	}
	set := regexp.MustCompile(`-X github\.com/go-valla/valla\.(\w+)=`)
	source, err := os.ReadFile("../../version.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{strings.Join(b.Ldflags, " "), strings.Join(tagged.flags(), " ")} {
		names := set.FindAllStringSubmatch(by, -1)
		if len(names) != 3 {
			t.Errorf("%q sets %d variables", by, len(names))
		}
		for _, n := range names {
			if !regexp.MustCompile(`(?m)^\t` + n[1] + ` +string\b`).Match(source) {
				t.Errorf("version.go has no variable %s", n[1])
			}
		}
	}
}

// tagged is a commit with a tag.
var tagged = source{version: "v1.2.3"}
