package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/settings"
)

// checkCSV is checkOut for a table of text.
func checkCSV(cmd *cobra.Command, args []string) error {
	if err := checkOut(cmd, "out", args); err != nil {
		return err
	}
	if f := cmd.Flags().Lookup("out"); f.Changed && !strings.EqualFold(filepath.Ext(f.Value.String()), ".csv") {
		return settings.Errorf("--out %s, expected a file called .csv", f.Value)
	}
	return nil
}

// checkOut returns an error if the file that the flag out of a command names cannot be written, or if it is a file of an
// argument or of another flag, which would be lost. Files of the flags over may be replaced. It is called before the work, so
// that the work is not lost either. A flag that is not given names no file.
func checkOut(cmd *cobra.Command, out string, args []string, over ...string) error {
	flag := cmd.Flags().Lookup(out)
	if !flag.Changed {
		return nil
	}
	path := flag.Value.String()
	for _, other := range otherFiles(cmd, args, append(over, out)...) {
		if other == "" || path == "" || !atomicfile.Same(path, other) {
			continue
		}
		if info, err := os.Stat(other); err == nil && info.IsDir() {
			other = "a file of the folder " + other + ", which is read"
		}
		return settings.Errorf("--%s %s: it would replace %s, expected another file", out, path, other)
	}
	if err := atomicfile.Try(path); err != nil {
		return fmt.Errorf("--%s %s: %w", out, path, err)
	}
	return nil
}

// otherFiles returns the arguments of a command and the files of its flags, without those of some flags.
func otherFiles(cmd *cobra.Command, args []string, without ...string) []string {
	files := slices.Clone(args)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch value := f.Value.String(); {
		case slices.Contains(without, f.Name) || !isFile(f):
		case slices.Contains(orNames, f.Name) && filepath.Ext(value) == "": // a name such as mlp
		default:
			files = append(files, paths(value)...)
		}
	})
	return files
}

// orNames are the flags whose value is a name or a file.
var orNames = []string{"form", "blas"}

// isFile tells whether the value of a flag may be a file or a folder, or several between commas: its help has a word such as FILE.onnx.
func isFile(f *pflag.Flag) bool {
	word, _ := pflag.UnquoteUsage(f)
	return slices.Contains(orNames, f.Name) || slices.ContainsFunc([]string{"FILE", "FOLDER", "PATH", "DATA"}, func(w string) bool { return strings.Contains(word, w) })
}

// beside returns the path for a second file beside the file to write, m.part.valla for m.valla, or m.part.part.valla where
// m.part.valla is another file of the command.
func (w *work) beside() string {
	ext := filepath.Ext(w.out)
	for name := strings.TrimSuffix(w.out, ext); ; {
		name += ".part"
		if !slices.ContainsFunc(w.others, func(other string) bool { return atomicfile.Same(name+ext, other) }) {
			return name + ext
		}
	}
}
