package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// source is the commit of a checkout.
type source struct {
	version string    // of the tag at the commit, such as v1.2.3; otherwise v0.0.0-dev
	commit  string    // hexadecimal
	date    time.Time // of the commit, UTC; the variable SOURCE_DATE_EPOCH replaces it
}

// untagged is the version of a commit without a tag.
const untagged = "v0.0.0-dev"

// output returns what a command in a folder prints. An error has what it says on stderr.
func output(ctx context.Context, folder string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(append([]string{name}, args...), " "), err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// readSource returns the commit of a checkout.
func readSource(ctx context.Context, folder string) (source, error) {
	s := source{version: untagged}
	commit, err := output(ctx, folder, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return s, err
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = output(ctx, folder, nil, "git", "log", "-1", "--format=%ct"); err != nil {
			return s, err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return s, fmt.Errorf("SOURCE_DATE_EPOCH %q, expected seconds", seconds)
	}
	s.commit, s.date = commit, time.Unix(n, 0).UTC()
	if tag, err := output(ctx, folder, nil, "git", "describe", "--tags", "--exact-match", "--match", "v[0-9]*", "HEAD"); err == nil {
		s.version = tag
	}
	return s, nil
}

// flags returns the flags of go build with which programs are released.
func (s source) flags() []string {
	const pkg = "github.com/go-valla/valla."
	return []string{"-trimpath", "-tags", "noopenblas", "-ldflags", fmt.Sprintf("-s -w -X %sversion=%s -X %scommit=%s -X %sdate=%s", pkg, s.version, pkg, s.commit, pkg, s.date.Format(time.RFC3339))}
}

// build builds the program for a platform, such as linux/amd64, without cgo and static.
func (s source) build(ctx context.Context, platform, out string) error {
	system, arch, _ := strings.Cut(platform, "/")
	_, err := output(ctx, ".", []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch}, "go", append(append([]string{"build", "-o", out}, s.flags()...), "./cmd/valla")...)
	return err
}

// tag matches the versions of tags: three numbers, and a word with a number for what comes before the version.
var tag = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?$`)

// pythonVersion returns the version in the form of Python's packages (PEP 440): v1.2.3-rc.1 is 1.2.3rc1. A commit without a
// tag has a version that comes before all others, with the commit.
func (s source) pythonVersion() (string, error) {
	if s.version == untagged {
		return "0.0.0.dev0+g" + s.commit[:12], nil
	}
	m := tag.FindStringSubmatch(s.version)
	if m == nil {
		return "", fmt.Errorf("tag %s, expected one such as v1.2.3 or v1.2.3-rc.1", s.version)
	}
	return m[1] + map[string]string{"": "", "alpha": "a", "beta": "b", "rc": "rc"}[m[2]] + m[3], nil
}
