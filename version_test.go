package valla

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	revision := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}}
	us, other := debug.Module{Path: modulePath, Version: "v1.2.3"}, debug.Module{Path: "example.com/tool", Version: "v9.0.0"}
	known := Build{Commit: "0123456789abcdef", Date: "2026-01-02T03:04:05Z", Modified: true}
	named := func(version string, b Build) Build {
		b.Version = version
		return b
	}
	for _, c := range []struct {
		want Build
		info *debug.BuildInfo
	}{
		{named("v1.2.3", known), &debug.BuildInfo{Main: us, Settings: revision}},
		{named("devel 0123456789ab", known), &debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "(devel)"}, Settings: revision}},
		{named("devel", Build{}), &debug.BuildInfo{Main: debug.Module{Path: modulePath}}},
		// The revision of another main module is not that of this one.
		{named("v1.2.4", Build{}), &debug.BuildInfo{Main: other, Settings: revision, Deps: []*debug.Module{{Path: "example.com/x", Version: "v0.1.0"}, {Path: modulePath, Version: "v1.2.4"}}}},
		{named("unknown", Build{}), &debug.BuildInfo{Main: other, Settings: revision}},
	} {
		if got := buildIn(c.info); got != c.want {
			t.Errorf("build %+v, want %+v", got, c.want)
		}
	}
	if v := Version(); v == "" || v == "unknown" {
		t.Errorf("version %q of the module's own tests", v)
	}
}

// TestReleaseVariables: the variables of a release come before the build information.
func TestReleaseVariables(t *testing.T) {
	defer func() { version, commit, date = "", "", "" }()
	version, commit, date = "v4.5.6", "ab", "2027-01-01T00:00:00Z"
	if b := CurrentBuild(); b.Version != version || b.Commit != commit || b.Date != date || Version() != version {
		t.Errorf("build %+v", b)
	}
}
