package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// apidiff is the program that compares exported names.
const apidiff = "golang.org/x/exp/cmd/apidiff@v0.0.0-20261113113407-e3970619a1a4"

// compareAPI compares the exported names of the module in a folder with those of the last tag, and returns the differences.
func compareAPI(ctx context.Context, folder string) (string, error) {
	const versions = "v[0-9]*"
	tags, err := output(ctx, folder, nil, "git", "tag", "--list", versions, "--merged", "HEAD")
	if err != nil {
		return "", err
	}
	if tags == "" {
		return "there is no tag yet, so that there are no exported names to compare with\n", nil
	}
	last, err := output(ctx, folder, nil, "git", "describe", "--tags", "--abbrev=0", "--match", versions)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	old, file := filepath.Join(dir, "old"), filepath.Join(dir, "old.export")
	if _, err := output(ctx, folder, nil, "git", "worktree", "add", "--detach", old, last); err != nil {
		return "", err
	}
	defer output(context.WithoutCancel(ctx), folder, nil, "git", "worktree", "remove", "--force", old)
	module, err := output(ctx, folder, nil, "go", "list", "-m")
	if err != nil {
		return "", err
	}
	if _, err := output(ctx, old, nil, "go", "run", apidiff, "-m", "-w", file, module); err != nil {
		return "", err
	}
	changes, err := output(ctx, folder, nil, "go", "run", apidiff, "-m", file, module)
	if err != nil {
		return "", err
	}
	return judged(last, changes)
}

// judged returns the changes since a tag, with an error if they are incompatible and the tag promises compatibility.
func judged(last, changes string) (string, error) {
	if changes == "" {
		return "no exported name has changed since " + last + "\n", nil
	}
	text := "since " + last + ":\n" + changes + "\n"
	if strings.Contains(changes, "Incompatible changes:") && !strings.HasPrefix(last, "v0.") {
		return text, fmt.Errorf("incompatible changes since %s need a new major version", last)
	}
	return text, nil
}
