package command_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/npy"
)

func TestWrongInput(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("nan.csv", "a,b,y\n1,2,3\n4,NaN,6\n")
	write("word.csv", "a,b,y\n1,2,3\n4,five,6\n7,8,9\n")
	write("words.csv", "a,b,y\n1,2,three\n4,5,six\n7,8,six\n")
	write("german.csv", "a;b;y\n1,5;2;3\n4,5;6;6\n")
	write("dates.csv", "day,y\n01/02/2024,1\n03/04/2024,2\n")
	write("allwords.csv", "a,b,y\n1,p,2\n3,q,4\n")
	must(t, dir, with(quickTrain, "train", "train.csv", "--missing", "error", "--out", "strict.valla")...)
	write("counts.csv", "2019,2020,2021\n1,2,3\n")
	write("ragged.csv", "a,b,y\n1,2,3\n4,5\n")
	write("one.csv", "y\n1\n2\n")
	write("three.csv", "a,b,y\n1,2,3\n4,5,6\n7,8,10\n")
	write("noext", "1,2\n")
	write("net.onnx", "\x08\x07")
	write("broken.npy", "no array at all")
	whole, err := os.ReadFile(filepath.Join(dir, "m.valla"))
	if err != nil {
		t.Fatal(err)
	}
	write("cut.valla", string(whole[:len(whole)/2]))
	write("csv.valla", "a,b\n")
	write("infinite.csv", "a,b,y\n1,2,inf\n2,3,1\n3,1,2\n4,4,1\n")
	write("gap.csv", "a,b,y\n1,2,3\n2,3,\n3,1,2\n4,4,1\n")
	write("other.valla", string(otherWeights(t, whole)))
	vector := func(n int) *tensor.Dense {
		return tensor.New(tensor.WithShape(n), tensor.WithBacking(make([]float64, n)))
	}
	shapes := []*tensor.Dense{matrix(make([]float64, 6), 3, 2), vector(3), matrix(make([]float64, 5), 1, 5), vector(1)}
	if err := npy.WriteArchive(filepath.Join(dir, "shapes.npz"), []string{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}, shapes); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		want string
		args string
	}{
		{1, "open none.csv: no such file", "train none.csv --out x.valla"},
		{1, `nan.csv:3: column "b": expected a value, found "NaN"`, "train nan.csv --out x.valla --missing error --validation 0"},
		{1, `nan.csv:3: column "b": expected a finite number, found "NaN"`, "train nan.csv --target b --out x.valla --validation 0"},
		{1, `nan.csv:3: column "b": expected a value, found "NaN"`, "eval nan.csv --model strict.valla"},
		{1, `word.csv:3: column "b": expected a number, found "five"; see --categorical`, "train word.csv --out x.valla"},
		{1, `word.csv:3: column "b": expected a number, found "five"`, "eval word.csv --model m.valla"},
		{1, `words.csv:2: column "y": expected a number, found "three"; the target holds text: --classes`, "train words.csv --out x.valla --validation 0"},
		{1, `gap.csv:3: column "y": expected a number, found ""; a row without its target cannot be learned from: leave it out`, "train gap.csv --out x.valla --validation 0"},
		{1, `infinite.csv:2: column "y": expected a finite number, found "inf"; a row without its target cannot be learned from: leave it out`, "train infinite.csv --out x.valla --validation 0"},
		{1, `german.csv:2: column "a": expected a number with a decimal point such as 1.5`, "train german.csv --out x.valla"},
		{1, `dates.csv: column "day": dates such as "01/02/2024" may have the month first or second`, "train dates.csv --out x.valla"},
		{1, `train.csv: no column "c"`, "train train.csv --drop c --out x.valla"},
		{1, "take a part of the rows, or drop columns", "train train.csv --out x.valla --memory 1KiB"},
		{1, "take a part of the rows, or drop columns", "fit train.csv --model map.valla --out x.valla --memory 1KiB"},
		{1, "ragged.csv:3: expected 3 cells, found 2", "train ragged.csv --out x.valla"},
		{1, `one.csv: only the columns "y", expected a target and at least one feature`, "train one.csv --out x.valla"},
		{1, `train.csv: no column "price"; it has "a", "b", "y"`, "train train.csv --target price --out x.valla"},
		{1, "noext: expected a file called .csv", "train noext --out x.valla"},
		{1, "broken.npy: malformed NumPy data", "train broken.npy --out x.valla"},
		{1, "--out no/x.valla: no such file", "train train.csv --out no/x.valla"},
		{1, "it is a folder, expected a file", "train train.csv --out ."},
		{1, "of 3 rows leaves 3 rows to train and 0 to validate", "train three.csv --out x.valla"},
		{1, "cut.valla: damaged, or a file of another kind", "predict test.csv --model cut.valla"},
		{1, "csv.valla: damaged, or a file of another kind", "eval test.csv --model csv.valla"},
		{1, "open none.valla: no such file", "eval test.csv --model none.valla"},
		{1, "net.onnx: damaged, or a file of another kind: a network or its weights, expected a model file: fit it first", "predict test.csv --model net.onnx"},
		{1, "other.valla: weights: damaged, or a file of another kind: expected the fingerprint", "eval test.csv --model other.valla"},
		{1, "other.valla: weights: damaged, or a file of another kind: expected the fingerprint", "fit train.csv --model other.valla --out x.valla"},
		{1, `one.csv: no column "a"`, "eval one.csv --model m.valla"},
		{1, `one.csv: no column "a"`, "fit one.csv --model map.valla --out x.valla"},
		{1, `shapes.npz: array "fc2.weight": shape (1, 5), expected 3 inputs`, "fit train.csv --net-weights shapes.npz --activation tanh --out x.valla"},
		{1, "none.npz: no such file", "fit train.csv --net-weights none.npz --activation tanh --out x.valla"},
		{1, "--checkpoint no/c.zip: no such file", "fit train.csv --model map.valla --out x.valla --checkpoint no/c.zip"},

		{2, `unknown command "frobnicate"`, "frobnicate"},
		{2, `unknown command "frobnicate"`, "help frobnicate"},
		{2, "unknown flag: --colour", "train train.csv --out x.valla --colour red"},
		{2, "unknown flag: --colour", "--colour"},
		{2, "--iteratons; did you mean --iterations?", "train train.csv --out x.valla --iteratons 5"},
		{2, `unknown command "trian" for "valla"; did you mean train?`, "trian train.csv"},
		{2, `unknown command "fitt" for "valla"; did you mean fit?`, "help fitt"},
		{2, `unknown command "shwo"; did you mean show?`, "method shwo lla"},
		{2, "sngp; did you mean valla?", "fit train.csv --model map.valla --method vala --out x.valla"},
		{2, `found "thanh"; did you mean tanh?`, "train train.csv --out x.valla --activation thanh"},
		{2, "censored, heteroscedastic; did you mean poisson?", "train train.csv --out x.valla --likelihood poison"},
		{2, `form "cn" of the network, expected mlp, cnn, resnet and a number such as 20, FILE.json or FILE.onnx; did you mean cnn?`, "train train.csv --out x.valla --form cn"},
		{2, `"dense2.bias"]; did you mean dense2.bias?`, "fit train.csv --model map.valla --out x.valla --weights dens2.bias"},
		{1, `no column "yy"; it has "a", "b", "y"; did you mean y?`, "train train.csv --target yy --out x.valla"},
		{2, "expected one file of data, found 0 arguments", "train --out x.valla"},
		{2, "expected one file of data, found 2 arguments", "predict a.csv b.csv --model m.valla"},
		{2, `required flag(s) "out" not set`, "train train.csv"},
		{2, `required flag(s) "model" not set`, "predict train.csv"},
		{2, "[model network net-weights]", "fit train.csv --out x.valla"},
		{2, "[model network net-weights]", "fit train.csv --model map.valla --net-weights net.npz --out x.valla"},
		{2, "[model activation]", "fit train.csv --model map.valla --activation tanh --out x.valla"},
		{2, `invalid argument "many" for "--iterations"`, "train train.csv --out x.valla --iterations many"},
		{2, "expected one of float64, float32", "train train.csv --out x.valla --dtype float16"},
		{2, "expected one of elu, erf, gelu", "train train.csv --out x.valla --activation step"},
		{2, "expected one of auto, in-out, out-in", "fit train.csv --net-weights n.npz --activation tanh --layout x --out x.valla"},
		{2, "expected an integer at least 1, found \"0\"", "train train.csv --out x.valla --iterations 0"},
		{2, "expected an integer at least 1, found \"0\"", "train train.csv --out x.valla --hidden 5,0"},
		{2, "expected a number at least 0, at most 1, found \"1.5\"", "fit train.csv --model map.valla --out x.valla --alpha 1.5"},
		{2, "since it counts up: say header yes or header no", "train counts.csv --out x.valla"},
		{2, `the column "a" is named twice`, "train train.csv --id a --numeric a --out x.valla"},
		{2, `the column "a" is named twice`, "train train.csv --id a --drop a --out x.valla"},
		{2, `the column "b" has no number`, "train allwords.csv --numeric b --out x.valla"},
		{2, "--resume needs --checkpoint", "fit train.csv --model map.valla --out x.valla --resume"},
		{2, "expected a number above 0, below 1, found \"95\"", "predict test.csv --model m.valla --level 95"},
		{2, "expected a file called .csv, .npz or .npy", "predict test.csv --model m.valla --out p.xlsx"},
	} {
		t.Run(c.args, func(t *testing.T) {
			fails(t, dir, c.code, c.want, strings.Fields(c.args)...)
			if _, err := os.Stat(filepath.Join(dir, "x.valla")); err == nil {
				t.Fatal("it left x.valla behind")
			}
		})
	}
}

// otherWeights changes one weight in a model file.
func otherWeights(t *testing.T, file []byte) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	for _, f := range in.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name == "weights/dense2.bias.npy" {
			body[len(body)-1] ^= 1 // of the exponent of its one number
		}
		w, err := out.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHelp(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{}, {"--help"}, {"help"}, {"train", "--help"}, {"help", "fit"}, {"--version"}} {
		out := must(t, dir, args...)
		if !strings.Contains(out, "valla") {
			t.Errorf("valla %q printed %q", args, out)
		}
	}
}
