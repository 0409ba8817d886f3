package data

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/npy"
)

// drawn draws rows from files.
func drawn(t *testing.T, r TableReader, d Draw, paths ...string) (*Table, int, error) {
	t.Helper()
	s, err := r.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d.Rest = paths[1:]
	return s.Draw(context.Background(), d)
}

// TestDrawUniform: each pair of rows of three files is in a sample equally often, so that each row is as well.
func TestDrawUniform(t *testing.T) {
	files := []string{put(t, "a.csv", "a\n0\n1\n2\n3\n"), put(t, "b.csv", "a\n4\n"), put(t, "c.csv", "a\n5\n6\n7\n")}
	const n, size, rounds = 8, 3, 4000
	var pairs [n][n]int
	for seed := range uint64(rounds) {
		table, all, err := drawn(t, TableReader{}, Draw{Rows: size, Seed: seed}, files...)
		if err != nil || all != n || table.N() != size {
			t.Fatalf("%d of %d rows, error %v", table.N(), all, err)
		}
		for _, a := range table.Values.Float64s() {
			for _, b := range table.Values.Float64s() {
				pairs[int(a)][int(b)]++
			}
		}
	}
	for i := range n {
		for j := range n {
			p := float64(size) / n
			if i != j {
				p *= float64(size-1) / (n - 1)
			}
			if got, tol := float64(pairs[i][j])/rounds, 5*math.Sqrt(p*(1-p)/rounds); math.Abs(got-p) > tol {
				t.Errorf("rows %d and %d are together in %.4f of the samples, want %.4f within %.4f", i, j, got, p, tol)
			}
		}
	}
}

// TestDrawParts: a sample does not depend on the files between which rows are divided, and words, missing values and columns in
// another order stay with their rows.
func TestDrawParts(t *testing.T) {
	line := func(i int) string {
		return fmt.Sprintf("%d,%s,%s\n", i, []string{"red", "", "green", "7"}[i%4], strings.Repeat("w", i))
	}
	var rows, tail []string
	for i := range 40 {
		rows = append(rows, line(i))
	}
	for _, r := range rows[13:] {
		c := strings.Split(strings.TrimSpace(r), ",")
		tail = append(tail, c[1]+","+c[0]+","+c[2]+"\n")
	}
	whole := put(t, "whole.csv", "n,colour,name\n"+strings.Join(rows, ""))
	head := put(t, "head.csv", "n,colour,name\n"+strings.Join(rows[:13], ""))
	rest := put(t, "rest.csv", "colour,n,name\n"+strings.Join(tail, ""))
	for _, size := range []int{4, 9, 40, 50} {
		for seed := range uint64(20) {
			one, _, err := drawn(t, TableReader{}, Draw{Rows: size, Seed: seed}, whole)
			if err != nil {
				t.Fatal(err)
			}
			two, all, err := drawn(t, TableReader{}, Draw{Rows: size, Seed: seed}, head, rest)
			if err != nil || all != 40 || two.N() != min(size, 40) {
				t.Fatalf("%d of %d rows, error %v", two.N(), all, err)
			}
			for _, table := range []*Table{one, two} {
				for i := range table.N() {
					n := int(table.Values.Float64s()[3*i])
					if got := fmt.Sprintf("%d,%s,%s\n", n, table.Texts(1)[i], table.Texts(2)[i]); got != line(n) {
						t.Fatalf("row %d of the sample is %q, want %q", i, got, line(n))
					}
				}
			}
			if !slices.Equal(column0(one), column0(two)) {
				t.Errorf("seed %d: rows %v of one file, %v of two", seed, column0(one), column0(two))
			}
			if size >= 40 && !slices.IsSorted(column0(one)) {
				t.Errorf("all rows are in the order %v", column0(one))
			}
		}
	}
}

// column0 returns the first of three columns.
func column0(t *Table) (v []float64) {
	for row := range slices.Chunk(t.Values.Float64s(), 3) {
		v = append(v, row[0])
	}
	return v
}

// TestDrawImages: images of each type keep their numbers, and their targets with them.
func TestDrawImages(t *testing.T) {
	for name, file := range map[string]func(first, n int) string{
		"uint8": func(first, n int) string {
			x, y := make([]uint8, 4*n), make([]float64, n)
			for i := range n {
				x[4*i+3], y[i] = uint8(first+i), float64(first+i)
			}
			return putNPZ(t, "X y", array([]int{n, 1, 2, 2}, x), array([]int{n}, y))
		},
		"float32": func(first, n int) string {
			x, y := make([]float32, 4*n), make([]float64, n)
			for i := range n {
				x[4*i+3], y[i] = float32(first+i), float64(first+i)
			}
			return putNPZ(t, "X y", array([]int{n, 1, 2, 2}, x), array([]int{n}, y))
		},
	} {
		table, all, err := drawn(t, TableReader{}, Draw{Rows: 30, Seed: 1}, file(0, 20), file(20, 50))
		if err != nil || all != 70 {
			t.Fatalf("%s: %d rows, error %v", name, all, err)
		}
		x := Float64s(table.X)
		if shape := table.X.Shape(); !slices.Equal(shape, []int{30, 1, 2, 2}) || table.X.Dtype().String() != name {
			t.Fatalf("%s: images %v of %v", name, shape, table.X.Dtype())
		}
		for i, y := range table.Values.Float64s() {
			if x[4*i+3] != y || x[4*i] != 0 {
				t.Errorf("%s: image %d is %v, target %g", name, i, x[4*i:4*i+4], y)
			}
		}
	}
}

func TestDrawErrors(t *testing.T) {
	a := put(t, "a.csv", "a,b\n1,2\n3,4\n")
	images := putNPZ(t, "X y", array([]int{1, 1, 2, 2}, make([]uint8, 4)), array([]int{1}, []float64{1}))
	wide := putNPZ(t, "X y", array([]int{1, 1, 2, 3}, make([]uint8, 6)), array([]int{1}, []float64{1}))
	whole := putNPZ(t, "X y", array([]int{1, 1, 2, 2}, make([]int64, 4)), array([]int{1}, []float64{1}))
	for _, c := range []struct {
		rows int
		from []string
		want string
	}{
		{0, []string{a}, "a sample of 0 rows, expected at least one"},
		{2, []string{a, filepath.Join(t.TempDir(), "none.csv")}, "none.csv"},
		{2, []string{a, put(t, "c.csv", "a,c\n1,2\n")}, `c.csv: no column "b"`},
		{2, []string{a, images}, "inputs and columns of other kinds than in"},
		{2, []string{images, wide}, "inputs of shape (1, 2, 3) and type uint8, expected (1, 2, 2) and uint8 as in"},
		{2, []string{whole}, "inputs are int64, expected float64, float32 or uint8"},
	} {
		if _, _, err := drawn(t, TableReader{}, Draw{Rows: c.rows}, c.from...); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: error %v, want one with %q", c.from, err, c.want)
		}
	}
	table, _, err := drawn(t, TableReader{}, Draw{Rows: 9}, a, put(t, "d.csv", "a,b\n5,6\n7,x\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Set("b"); err == nil || !strings.Contains(err.Error(), `d.csv:3: column "b": expected a number, found "x"`) {
		t.Errorf("error %v, want one with the place", err)
	}
	s, err := TableReader{}.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := s.Draw(ctx, Draw{Rows: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

// TestDrawRoom: a sample beyond the memory is refused before it is complete.
func TestDrawRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := npy.Write(path, array([]int{2 * roomEvery, 2}, make([]float64, 4*roomEvery))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := drawn(t, TableReader{}, Draw{Rows: 3 * roomEvery, Limit: 3 * cellBytes * roomEvery}, path, path); err == nil || !strings.Contains(err.Error(), "MiB of memory") {
		t.Errorf("error %v", err)
	}
	if table, all, err := drawn(t, TableReader{}, Draw{Rows: 3 * roomEvery}, path, path); err != nil || all != 4*roomEvery || table.N() != 3*roomEvery {
		t.Errorf("%d of %d rows, error %v", table.N(), all, err)
	}
}
