package valla

import "runtime/debug"

const modulePath = "github.com/go-valla/valla"

// A release that is built outside a checkout sets these variables, by go build -ldflags "-X
// github.com/go-valla/valla.version=v1.2.3" and likewise. Where they are empty, the build information
// of Go tells.
var (
	version string // such as v1.2.3
	commit  string // hexadecimal
	date    string // of the commit, RFC 3339
)

// Build says from what the running program was built.
type Build struct {
	Version  string `json:"version"`            // version of this module, see [Version]
	Commit   string `json:"commit,omitempty"`   // revision of this module, hexadecimal; "" if it is unknown
	Date     string `json:"date,omitempty"`     // time of the commit, RFC 3339; "" if it is unknown
	Modified bool   `json:"modified,omitempty"` // the files differed from the commit
}

// Version returns the version of this module in the running program, with the
// revision it was built from where that is known; "unknown" outside a module build.
func Version() string { return CurrentBuild().Version }

// CurrentBuild returns from what the running program was built. Commit and date are known in a release, and
// in a program that Go has built in a checkout of this module.
func CurrentBuild() Build {
	b := Build{Version: "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		b = buildIn(info)
	}
	for _, v := range []struct {
		set string
		to  *string
	}{{version, &b.Version}, {commit, &b.Commit}, {date, &b.Date}} {
		if v.set != "" {
			*v.to = v.set
		}
	}
	return b
}

// buildIn returns what the build information of a program says of this module.
func buildIn(info *debug.BuildInfo) Build {
	if info.Main.Path == modulePath {
		return mainBuild(info)
	}
	for _, d := range info.Deps {
		if d.Path == modulePath {
			return Build{Version: d.Version}
		}
	}
	return Build{Version: "unknown"}
}

// mainBuild is the build of the main module. Builds from a checkout are called
// (devel) or have a version derived from the revision.
func mainBuild(info *debug.BuildInfo) Build {
	b := Build{Version: info.Main.Version}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if b.Version != "" && b.Version != "(devel)" {
		return b
	}
	if b.Version = "devel"; b.Commit != "" {
		b.Version += " " + b.Commit[:min(12, len(b.Commit))]
	}
	return b
}
