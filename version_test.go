package valla

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	revision := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123456789abcdef"}}
	us, other := debug.Module{Path: modulePath, Version: "v1.2.3"}, debug.Module{Path: "example.com/tool", Version: "v9.0.0"}
	for want, info := range map[string]*debug.BuildInfo{
		"v1.2.3":             {Main: us, Settings: revision},
		"devel 0123456789ab": {Main: debug.Module{Path: modulePath, Version: "(devel)"}, Settings: revision},
		"devel":              {Main: debug.Module{Path: modulePath}},
		"v1.2.4":             {Main: other, Deps: []*debug.Module{{Path: "example.com/x", Version: "v0.1.0"}, {Path: modulePath, Version: "v1.2.4"}}},
		"unknown":            {Main: other},
	} {
		if got := versionIn(info); got != want {
			t.Errorf("version %q, want %q", got, want)
		}
	}
	if v := Version(); v == "" || v == "unknown" {
		t.Errorf("version %q of the module's own tests", v)
	}
}
