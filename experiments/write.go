package experiments

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-valla/valla/internal/atomicfile"
)

// writeResult writes NAME.json and NAME.md into dir.
func writeResult(dir, name string, result any, markdown string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("experiments: %w", err)
	}
	doc, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("experiments: %s: %w", name, err)
	}
	for ext, text := range map[string]string{".json": string(doc) + "\n", ".md": markdown} {
		if err := writeText(filepath.Join(dir, name+ext), text); err != nil {
			return err
		}
	}
	return nil
}

func writeText(path, text string) error {
	err := atomicfile.Write(path, 0o644, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	if err != nil {
		return fmt.Errorf("experiments: %w", err)
	}
	return nil
}
