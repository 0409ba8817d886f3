package command

import "testing"

func TestMemoryFlag(t *testing.T) {
	for text, want := range map[string]memory{"4GiB": 4 << 30, "1.5 MiB": 3 << 19, "2048": 2048, "1TiB": 1 << 40, "3KiB": 3072} {
		var m memory
		if err := m.Set(text); err != nil || m != want {
			t.Errorf("%q is %d bytes, error %v; want %d", text, m, err, want)
		}
	}
	for _, text := range []string{"", "GiB", "4GB", "-1GiB", "0", "NaN", "1e30", "1e10TiB", "4 GiB x"} {
		m := memory(7)
		if err := m.Set(text); err == nil || m != 7 {
			t.Errorf("%q is taken for %d bytes", text, m)
		}
	}
	m := memory(4 << 30)
	if m.String() != "4 GiB" || (*memory)(new(memory)).String() != "" {
		t.Errorf("4 GiB is shown as %q", m.String())
	}
}
