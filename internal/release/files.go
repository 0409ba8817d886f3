package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/go-valla/valla/internal/atomicfile"
)

// thirdParty is the name of the file with the licences of all modules.
const thirdParty = "THIRD-PARTY-LICENSES.txt"

// writeFiles writes what the archives have beside the program into a folder: manual pages in man, completions in
// completions, and the licences.
func writeFiles(ctx context.Context, folder string) error {
	s, err := readSource(ctx, ".")
	if err != nil {
		return err
	}
	own, err := licensed(".", true)
	if err != nil {
		return err
	}
	all, err := licenses(ctx)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, text := range map[string]string{"LICENSE.txt": own, thirdParty: all} {
		if err := write(filepath.Join(folder, name), []byte(text)); err != nil {
			return err
		}
	}
	return s.writePages(ctx, folder)
}

// writePages writes manual pages and completions, as the program prints them.
func (s source) writePages(ctx context.Context, folder string) error {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "valla")
	if err := s.build(ctx, runtime.GOOS+"/"+runtime.GOARCH, program); err != nil {
		return err
	}
	if _, err := output(ctx, ".", nil, program, "man", filepath.Join(folder, "man")); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "valla.bash", "zsh": "_valla", "fish": "valla.fish", "powershell": "valla.ps1"} {
		text, err := output(ctx, ".", nil, program, "completion", shell)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(folder, "completions", name), []byte(text+"\n")); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file, with the folders above.
func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
