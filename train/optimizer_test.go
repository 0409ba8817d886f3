package train

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// fill sets the gradients of params to numbers that depend on step.
func fill(params []Param, step int) {
	for k, p := range params {
		n := p.Value.Shape().TotalSize()
		for i := range n {
			g := math.Sin(float64(1 + i + 7*k + 31*step))
			if p.Grad.Dtype() == tensor.Float32 {
				floats[float32](p.Grad)[i] = float32(g)
			} else {
				floats[float64](p.Grad)[i] = g
			}
		}
	}
}

func TestFirstStepsByHand(t *testing.T) {
	// θ = 1, g = 2 in both steps. Adam's m̂/√v̂ is 1 for a constant gradient, so it
	// moves by LR; with Eps = 2 by LR·2/(2+2).
	for _, c := range []struct {
		name string
		o    Optimizer
		want [2]float64
	}{
		{"Adam", &Adam{LR: 0.25, Eps: 1e-300}, [2]float64{0.75, 0.5}},
		{"Adam Eps", &Adam{LR: 0.25, Eps: 2}, [2]float64{0.875, 0.75}},
		{"Adam default LR", &Adam{Eps: 1e-300}, [2]float64{0.999, 0.998}},
		// θ ← θ(1 − 0.25·0.5) − 0.25
		{"AdamW", &Adam{Decoupled: true, LR: 0.25, Eps: 1e-300, WeightDecay: 0.5}, [2]float64{0.625, 0.625*0.875 - 0.25}},
		{"SGD", &SGD{LR: 0.25}, [2]float64{0.5, 0}},
		// g + 0.5 θ: 2.5, then θ = 0.375 gives 2.1875
		{"SGD decay", &SGD{LR: 0.25, WeightDecay: 0.5}, [2]float64{0.375, 0.375 - 0.25*2.1875}},
		// buf = 2, then 0.5·2 + 2 = 3
		{"SGD momentum", &SGD{LR: 0.25, Momentum: 0.5}, [2]float64{0.5, -0.25}},
		// 2 + 0.5·2 = 3, then 2 + 0.5·3 = 3.5
		{"SGD Nesterov", &SGD{LR: 0.25, Momentum: 0.5, Nesterov: true}, [2]float64{0.25, -0.625}},
	} {
		p := []Param{newParam[float64]("θ", []int{}, 1)}
		floats[float64](p[0].Grad)[0] = 2
		for step, want := range c.want {
			if err := c.o.Step(p, 1); err != nil {
				t.Fatal(err)
			}
			if got := floats[float64](p[0].Value)[0]; math.Abs(got-want) > 1e-13 { // 1−β₂ᵗ cancels three digits
				t.Errorf("%s: θ = %v after step %d, want %v", c.name, got, step+1, want)
			}
		}
	}
}

func TestLRScaleScalesTheLearningRate(t *testing.T) {
	forEach(t, func(t *testing.T, newOptimizer func() Optimizer, obj func() testObjective) {
		still, params := obj().Params(), obj().Params()
		fill(params, 0)
		if err := newOptimizer().Step(params, 0); err != nil {
			t.Fatal(err)
		}
		if bits(params) != bits(still) {
			t.Error("a step of scale 0 moved the parameters")
		}
	})
	half, whole := []Param{newParam[float64]("θ", []int{1}, 1)}, []Param{newParam[float64]("θ", []int{1}, 1)}
	for step := range 3 {
		fill(half, step)
		fill(whole, step)
		a, b := &Adam{Decoupled: true, LR: 0.5, WeightDecay: 0.1}, &Adam{Decoupled: true, LR: 0.25, WeightDecay: 0.1}
		if err := errors.Join(a.Step(half, 0.5), b.Step(whole, 1)); err != nil {
			t.Fatal(err)
		}
		if bits(half) != bits(whole) {
			t.Errorf("step %d: LR 0.5 at scale 0.5 gives %v, LR 0.25 %v", step, half[0].Value, whole[0].Value)
		}
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	forEach(t, func(t *testing.T, newOptimizer func() Optimizer, obj func() testObjective) {
		o, params := newOptimizer(), obj().Params()
		if err := o.Step(params, 1); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(10, func() { _ = o.Step(params, 1) }); n != 0 {
			t.Errorf("%v allocations a step, want none", n)
		}
	})
}

func TestStateContinuesBitForBit(t *testing.T) {
	forEach(t, func(t *testing.T, newOptimizer func() Optimizer, obj func() testObjective) {
		whole, cut := obj().Params(), obj().Params()
		a, b := newOptimizer(), newOptimizer()
		for step := range 8 {
			fill(whole, step)
			fill(cut, step)
			if step == 4 {
				state := b.State()
				if err := b.Step(cut, 1); err != nil { // must not reach into state
					t.Fatal(err)
				}
				copyAll(cut, whole)
				b = newOptimizer()
				if err := b.SetState(state); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(a.Step(whole, 1), b.Step(cut, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if bits(whole) != bits(cut) {
			t.Errorf("continued from a state: %v, want %v", bits(cut), bits(whole))
		}
		if s := b.State(); s.Steps != 8 {
			t.Errorf("%d steps in the state, want 8", s.Steps)
		}
	})
}

func TestStateIsCopiedIn(t *testing.T) {
	forEach(t, func(t *testing.T, newOptimizer func() Optimizer, obj func() testObjective) {
		a, params := newOptimizer(), obj().Params()
		fill(params, 1)
		if err := a.Step(params, 1); err != nil {
			t.Fatal(err)
		}
		state := a.State()
		var results []string
		for range 2 { // what the first does to its memory must not reach the second
			o, params := newOptimizer(), obj().Params()
			if err := o.SetState(state); err != nil {
				t.Fatal(err)
			}
			for step := range 3 {
				fill(params, step)
				if err := o.Step(params, 1); err != nil {
					t.Fatal(err)
				}
			}
			results = append(results, bits(params))
		}
		if results[0] != results[1] {
			t.Errorf("%v from a state, then %v", results[0], results[1])
		}
	})
}

func copyAll(dst, src []Param) {
	for i := range dst {
		copyInto(dst[i].Value, src[i].Value)
	}
}

func TestStateOfOtherParametersIsRefused(t *testing.T) {
	others := map[string]func() []Param{
		"name":  func() []Param { return []Param{newParam[float64]("v", []int{2, 1}, 1, 2)} },
		"shape": func() []Param { return []Param{newParam[float64]("w", []int{2}, 1, 2)} },
		"dtype": func() []Param { return []Param{newParam[float32]("w", []int{2, 1}, 1, 2)} },
		"count": func() []Param {
			return []Param{newParam[float64]("w", []int{2, 1}, 1, 2), newParam[float64]("v", []int{1}, 1)}
		},
	}
	for what, other := range others {
		t.Run(what, func(t *testing.T) {
			a, params := &Adam{}, other()
			if err := a.Step([]Param{newParam[float64]("w", []int{2, 1}, 1, 2)}, 1); err != nil {
				t.Fatal(err)
			}
			before := bits(params)
			fresh, used := &Adam{}, &Adam{}
			if err := errors.Join(fresh.SetState(a.State()), used.Step(params, 0)); err != nil {
				t.Fatal(err)
			}
			for name, err := range map[string]error{
				"the same optimizer":        a.Step(params, 1),
				"a fresh one":               fresh.Step(params, 1),
				"one used with others (it)": used.SetState(a.State()),
			} {
				if !errors.Is(err, ErrMismatch) {
					t.Errorf("%s: %v, want %v", name, err, ErrMismatch)
				}
			}
			if bits(params) != before {
				t.Error("a refused step moved the parameters")
			}
		})
	}
}

func TestStateOfOtherSettingsIsRefused(t *testing.T) {
	params := newBowl[float64]().Params()
	states := map[string]State{}
	for name, newOptimizer := range optimizers {
		o := newOptimizer()
		if err := o.Step(params, 1); err != nil {
			t.Fatal(err)
		}
		states[name] = o.State()
	}
	for name, newOptimizer := range optimizers {
		for of, state := range states {
			err := newOptimizer().SetState(state)
			if (err == nil) != (name == of) || (err != nil && !errors.Is(err, ErrMismatch)) {
				t.Errorf("%s with the state of %s: %v", name, of, err)
			}
		}
	}
	broken := states["Adam"]
	broken.Slots = broken.Slots[:1]
	if err := optimizers["Adam"]().SetState(broken); !errors.Is(err, ErrMismatch) {
		t.Errorf("a state without v: %v, want %v", err, ErrMismatch)
	}
}

func TestStepRefuses(t *testing.T) {
	good := func() Param { return newParam[float64]("w", []int{2, 3}, 1, 2, 3, 4, 5, 6) }
	transposed := good()
	if err := transposed.Value.T(); err != nil {
		t.Fatal(err)
	}
	transposed.Grad = newParam[float64]("", []int{3, 2}, 1, 2, 3, 4, 5, 6).Value
	column := good()
	column.Grad = tensor.New(tensor.WithShape(2, 3), tensor.AsFortran([]float64{1, 2, 3, 4, 5, 6}))
	view := good()
	sliced, err := newParam[float64]("", []int{2, 4}, 1, 2, 3, 4, 5, 6, 7, 8).Value.Slice(nil, tensor.S(0, 3))
	if err != nil {
		t.Fatal(err)
	}
	view.Value = sliced.(*tensor.Dense)
	ints := Param{Name: "w", Value: tensor.New(tensor.WithBacking([]int{1})), Grad: tensor.New(tensor.WithBacking([]int{1}))}
	mixed, shapes := good(), good()
	mixed.Grad = newParam[float32]("", []int{2, 3}, 1, 2, 3, 4, 5, 6).Value
	shapes.Grad = newParam[float64]("", []int{3, 2}, 1, 2, 3, 4, 5, 6).Value
	for _, c := range []struct {
		o      Optimizer
		params []Param
		scale  float64
		want   string
	}{
		{&Adam{}, nil, 1, "no parameters"},
		{&Adam{}, []Param{good(), good()}, 1, `name "w" is empty or taken`},
		{&Adam{}, []Param{{Name: "w"}}, 1, "lacks"},
		{&Adam{}, []Param{transposed}, 1, "plain row-major"},
		{&Adam{}, []Param{column}, 1, "plain row-major"},
		{&Adam{}, []Param{view}, 1, "plain row-major"},
		{&Adam{}, []Param{ints}, 1, "expected float32 or float64"},
		{&Adam{}, []Param{mixed}, 1, "gradient of float32 (2, 3)"},
		{&Adam{}, []Param{shapes}, 1, "gradient of float64 (3, 2)"},
		{&Adam{}, []Param{good()}, math.NaN(), "scaled by NaN"},
		{&Adam{}, []Param{good()}, -1, "scaled by -1"},
		{&Adam{LR: math.NaN()}, []Param{good()}, 1, "LR = NaN"},
		{&Adam{Beta1: 1}, []Param{good()}, 1, "Beta1 = 1"},
		{&Adam{Decoupled: true, Beta2: -0.1}, []Param{good()}, 1, "Beta2 = -0.1"},
		{&Adam{Decoupled: true, Eps: -1}, []Param{good()}, 1, "Eps = -1"},
		{&Adam{Decoupled: true, WeightDecay: -1}, []Param{good()}, 1, "WeightDecay = -1"},
		{&SGD{LR: -1}, []Param{good()}, 1, "LR = -1"},
		{&SGD{Momentum: math.Inf(1)}, []Param{good()}, 1, "Momentum = +Inf"},
		{&SGD{Nesterov: true}, []Param{good()}, 1, "needs Momentum"},
	} {
		err := c.o.Step(c.params, c.scale)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%T%v: error %v, want one line with %q", c.o, c.params, err, c.want)
		}
		if c.o.State().Steps != 0 {
			t.Errorf("%q: a refused step was counted", c.want)
		}
	}
}

// TestGroups: each group moves as with its optimizer alone, a constant one whatever the
// schedule says; groups of other sizes are an error.
func TestGroups(t *testing.T) {
	g := Groups{{Size: 1, Optimizer: &SGD{LR: 0.1, Momentum: 0.5}, Constant: true}, {Size: 2, Optimizer: &SGD{LR: 0.3, Momentum: 0.5}}}
	first, rest := &SGD{LR: 0.1, Momentum: 0.5}, &SGD{LR: 0.3, Momentum: 0.5}
	got, want := newBowl[float64]().Params(), newBowl[float64]().Params()
	for step := range 3 {
		fill(got, step)
		fill(want, step)
		if err := errors.Join(g.Step(got, 0.25), first.Step(want[:1], 1), rest.Step(want[1:], 0.25)); err != nil {
			t.Fatal(err)
		}
		if bits(got) != bits(want) {
			t.Fatalf("step %d: parameters %v, want %v", step, got, want)
		}
	}
	if err := g.Step(got[:2], 1); err == nil || !strings.Contains(err.Error(), "groups of 3 parameters, found 2") {
		t.Errorf("error %v", err)
	}
}
