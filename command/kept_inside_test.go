package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/pass"
)

// plainTexts are flags with texts that name no files.
var plainTexts = []string{"abstain", "categorical", "drop", "engine", "frozen", "groups", "id", "lengths", "likelihood", "mask", "method", "numeric", "output", "part", "provider", "require", "target", "weights"}

// writtenFlags are the flags that name a file to write.
var writtenFlags = []string{"out", "head", "checkpoint"}

// writingLines are command lines of all commands that have such a flag.
var writingLines = map[string]string{
	"valla acquire":        "acquire t.csv --model m.valla",
	"valla calibrate":      "calibrate t.csv --model m.valla",
	"valla export":         "export m.valla",
	"valla features":       "features t.csv --model m.valla",
	"valla fit":            "fit t.csv --model m.valla",
	"valla merge":          "merge sums",
	"valla network places": "network places n.onnx t.npz",
	"valla predict":        "predict t.csv --model m.valla",
	"valla report":         "report t.csv --model m.valla",
	"valla train":          "train t.csv",
	"valla update":         "update t.csv --model m.valla",
}

// together are what flags need beside them, in place of --model.
var together = map[string]string{"network": "", "net-weights": "--activation tanh", "form": "--net-weights w.npz"}

// apart are pairs of flags that may name the same file, or that do not go together.
var apart = []string{"calibrate out model", "update out model", "fit checkpoint passes"}

// eachCommand calls f with a command and the commands below it.
func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, f)
	}
}

// TestFlagsOfFiles: the help of each flag with a text tells by a word such as FILE whether the flag names a file, also of the flags of
// methods and observation models.
func TestFlagsOfFiles(t *testing.T) {
	check := func(cmd *cobra.Command) {
		cmd.InheritedFlags() // adds them to the flags
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			text := strings.HasPrefix(f.Value.Type(), "string") || strings.HasPrefix(f.Value.Type(), "TEXT")
			if writes := writingLines[cmd.CommandPath()] != ""; writes && text && isFile(f) == slices.Contains(plainTexts, f.Name) {
				t.Errorf("%s --%s: expected a word such as FILE for its value, or its name in this test", cmd.CommandPath(), f.Name)
			}
		})
	}
	for _, name := range method.Names() {
		eachCommand(newRoot([]string{"--method", name}), check)
	}
	for _, name := range likelihood.Names() {
		eachCommand(newRoot([]string{"--likelihood", name}), check)
	}
}

// TestNoFileIsReplaced: no command replaces a file of an argument or of another flag.
func TestNoFileIsReplaced(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"m.valla", "j.csv", "a,b.onnx"} {
		put(t, name)
	}
	j, err := pass.New(pass.Options{Task: pass.Predict}, "m.valla", "j.csv")
	if err == nil {
		err = j.Join("sums")
	}
	if err != nil {
		t.Fatal(err)
	}
	eachCommand(newRoot(nil), func(cmd *cobra.Command) {
		line, known := writingLines[cmd.CommandPath()]
		for _, out := range writtenFlags {
			switch f := cmd.Flags().Lookup(out); {
			case f != nil && !known:
				t.Errorf("%s --%s: expected a line of this command in this test", cmd.CommandPath(), out)
			case f != nil:
				replacing{t, cmd, line, out}.all()
			}
		}
	})
	for line, file := range map[string]string{
		"merge sums --out m.valla": "m.valla", "merge sums --out j.csv": "j.csv", "merge sums --out sums/job.json": "sums/job.json",
		"fit t.csv --network x.onnx,y.onnx --out ./y.onnx": "y.onnx", "fit t.csv --network a,b.onnx --out ./a,b.onnx": "a,b.onnx",
		"fit t.csv --model x.12 --out y.valla --checkpoint ./x": "x.12", "train t.csv --out z.1 --checkpoint z": "z.1",
	} {
		refused(t, line, file)
	}
}

// put makes a file if there is none.
func put(t *testing.T, path string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if _, absent := os.Stat(path); err == nil && absent != nil {
		err = os.WriteFile(path, []byte("a,b\n1,2\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// replacing are command lines that would replace files.
type replacing struct {
	*testing.T
	cmd  *cobra.Command
	line string // without the flag
	out  string // flag that names a file to write
}

// all lets the flag name the file of each argument and of each other flag.
func (r replacing) all() {
	ext := map[string]string{"report": ".html", "acquire": ".csv", "predict": ".csv"}[r.cmd.Name()]
	if ext == "" {
		ext = ".onnx"
	}
	file, other := "x"+ext, ""
	if r.out != "out" {
		other = " --out y" + ext
	}
	words := strings.Fields(r.line)
	for i, word := range words {
		if filepath.Ext(word) != "" && words[i-1] != "--model" {
			line := slices.Clone(words)
			line[i] = file
			refused(r.T, strings.Join(line, " ")+other+" --"+r.out+" ./"+file, file)
		}
	}
	r.cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch line, pair := r.line, strings.Join([]string{r.cmd.Name(), r.out, f.Name}, " "); {
		case f.Name == r.out || f.Name == "blas" || !isFile(f) || slices.Contains(apart, pair): // the file is no library
		case f.Name == "parts" || f.Name == "passes":
			refused(r.T, line+other+" --"+f.Name+" folder --"+r.out+" folder/"+file, "folder/"+file)
		default:
			if more, ok := together[f.Name]; ok {
				line = strings.Replace(line, "--model m.valla", more, 1)
			}
			refused(r.T, line+other+" --"+f.Name+" "+file+" --"+r.out+" ./"+file, file)
		}
	})
}

// refused fails unless a command line refuses to replace a file.
func refused(t *testing.T, line, file string) {
	t.Helper()
	put(t, file)
	before, _ := os.ReadFile(file)
	var stdout, stderr bytes.Buffer
	if code := run(strings.Fields(line), &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), ": it would replace ") {
		t.Errorf("%s: exit code %d: %s", line, code, &stderr)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("%s: %s was replaced, error %v", line, file, err)
	}
}
