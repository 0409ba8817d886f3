package command

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla/internal/settings"
)

// TestExplain: packages speak of settings, and the command of its flags.
func TestExplain(t *testing.T) {
	cmd := &cobra.Command{Use: "fit"}
	cmd.Flags().Float64("prior-std", 1, "")
	for _, c := range []struct {
		err  error
		want string
		code int
	}{
		{failure{settings.Errorf("prior-std: expected a number above 0, found 0")}, "bad setting: --prior-std: expected a number above 0, found 0 (see fit --help)", 2},
		{failure{fmt.Errorf("x.valla: %w", settings.Errorf("prior-std: too large"))}, "x.valla: bad setting: --prior-std: too large (see fit --help)", 2},
		{failure{settings.Errorf("rank: too large")}, "bad setting: rank: too large (see fit --help)", 2},
		{failure{settings.Errorf("no rows")}, "bad setting: no rows (see fit --help)", 2},
		{errors.New("unknown flag: --x"), "unknown flag: --x (see fit --help)", 2},
		{failure{errors.New("prior-std: damaged")}, "prior-std: damaged", 1},
		{failure{interruption("interrupted; nothing is lost")}, "interrupted; nothing is lost", 130},
		{failure{fmt.Errorf("fit: %w", context.Canceled)}, "interrupted", 130},
	} {
		if text, code := explain(cmd, c.err); text != c.want || code != c.code {
			t.Errorf("%v: %q and code %d, want %q and %d", c.err, text, code, c.want, c.code)
		}
	}
}
