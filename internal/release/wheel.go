package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// wheelTags are the platforms of wheels by those of Go. A program without cgo and without the system's C library runs with any
// C library of Linux; Go needs macOS 12.
var wheelTags = map[string]string{
	"linux/amd64":   "manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_12_0_x86_64",
	"darwin/arm64":  "macosx_12_0_arm64",
	"windows/amd64": "win_amd64",
	"windows/arm64": "win_arm64",
}

func newWheel() *cobra.Command {
	var out, program string
	var chosen []string
	cmd := &cobra.Command{
		Use:   "wheel",
		Short: "Make the wheels of the Python package",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if program != "" && len(chosen) != 1 {
				return errors.New("--program is for one --platform")
			}
			for _, p := range chosen {
				path, err := makeWheel(cmd.Context(), p, program, out)
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), path)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "dist", "`FOLDER` for the wheels")
	cmd.Flags().StringVar(&program, "program", "", "`FILE` of the program for one platform, which is built otherwise")
	cmd.Flags().StringSliceVar(&chosen, "platform", platforms, "platforms, such as linux/amd64")
	return cmd
}

// entry is a file in a wheel.
type entry struct {
	name string      // path in the wheel, with slashes
	text []byte      // content
	mode fs.FileMode // permissions
}

// makeWheel writes the wheel for a platform into a folder, and returns its path. A program that is "" is built.
func makeWheel(ctx context.Context, platform, program, folder string) (string, error) {
	tags, ok := wheelTags[platform]
	if !ok {
		return "", fmt.Errorf("there is no wheel for %s, expected one of %s", platform, strings.Join(platforms, ", "))
	}
	s, err := readSource(ctx, ".")
	if err != nil {
		return "", err
	}
	if program == "" {
		dir, err := os.MkdirTemp("", "release-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "valla")
		if err := s.build(ctx, platform, program); err != nil {
			return "", err
		}
	}
	version, err := s.pythonVersion()
	if err != nil {
		return "", err
	}
	entries, err := wheelEntries(ctx, platform, program, version)
	if err != nil {
		return "", err
	}
	packed, err := pack(entries, s)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, fmt.Sprintf("valla-%s-py3-none-%s.whl", version, tags))
	return path, write(path, packed)
}

// wheelEntries returns the files of a wheel but RECORD.
func wheelEntries(ctx context.Context, platform, program, version string) ([]entry, error) {
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	name := "valla/bin/valla"
	if strings.HasPrefix(platform, "windows/") {
		name += ".exe"
	}
	entries := []entry{{name, binary, 0o755}}
	sources, err := filepath.Glob(filepath.Join("python", "valla", "*.py*"))
	if err != nil || len(sources) < 5 {
		return nil, fmt.Errorf("%d files in python/valla, error %v: run this in the root of a checkout", len(sources), err)
	}
	for _, path := range append(sources, filepath.Join("python", "valla", "py.typed")) {
		if slices.ContainsFunc(entries, func(e entry) bool { return e.name == "valla/"+filepath.Base(path) }) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{"valla/" + filepath.Base(path), text, 0o644})
	}
	about, err := wheelInfo(ctx, platform, version)
	return append(entries, about...), err
}

// wheelInfo returns the files of a wheel that describe it.
func wheelInfo(ctx context.Context, platform, version string) ([]entry, error) {
	page, err := os.ReadFile(filepath.Join("python", "README.md"))
	if err != nil {
		return nil, err
	}
	own, err := licensed(".", true)
	if err != nil {
		return nil, err
	}
	others, err := licenses(ctx)
	if err != nil {
		return nil, err
	}
	metadata := fmt.Sprintf(`Metadata-Version: 2.4
Name: valla
Version: %s
Summary: Error bars for neural networks that are already trained
Home-page: https://github.com/go-valla/valla
Requires-Python: >=3.8
Requires-Dist: numpy>=1.21
Provides-Extra: torch
Requires-Dist: torch; extra == 'torch'
License-File: LICENSE.txt
License-File: %s
Description-Content-Type: text/markdown

%s`, version, thirdParty, page)
	var tags strings.Builder
	for tag := range strings.SplitSeq(wheelTags[platform], ".") {
		fmt.Fprintf(&tags, "Tag: py3-none-%s\n", tag)
	}
	info := "valla-" + version + ".dist-info/"
	return []entry{
		{info + "METADATA", []byte(metadata), 0o644},
		{info + "WHEEL", []byte("Wheel-Version: 1.0\nGenerator: valla-release (" + runtime.Version() + ")\nRoot-Is-Purelib: false\n" + tags.String()), 0o644},
		{info + "entry_points.txt", []byte("[console_scripts]\nvalla = valla._program:main\n"), 0o644},
		{info + "licenses/LICENSE.txt", []byte(own), 0o644},
		{info + "licenses/" + thirdParty, []byte(others), 0o644},
	}, nil
}

// pack returns a wheel of the entries, in the order of their names but for the description at the end, with their sums in
// RECORD (PEP 427).
func pack(entries []entry, s source) ([]byte, error) {
	slices.SortFunc(entries, func(a, b entry) int {
		if x, y := strings.Contains(a.name, ".dist-info/"), strings.Contains(b.name, ".dist-info/"); x != y {
			return map[bool]int{true: 1, false: -1}[x]
		}
		return strings.Compare(a.name, b.name)
	})
	info, _, _ := strings.Cut(entries[len(entries)-1].name, "/")
	var record, out bytes.Buffer
	for _, e := range entries {
		sum := sha256.Sum256(e.text)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.text))
	}
	fmt.Fprintf(&record, "%s/RECORD,,\n", info)
	z := zip.NewWriter(&out)
	for _, e := range append(entries, entry{info + "/RECORD", record.Bytes(), 0o644}) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: s.date}
		h.SetMode(e.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(e.text); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
