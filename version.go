package valla

import "runtime/debug"

const modulePath = "github.com/go-valla/valla"

// Version returns the version of this module in the running program, with the
// revision it was built from where that is known; "unknown" outside a module build.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionIn(info)
}

// versionIn returns the version of this module in a program.
func versionIn(info *debug.BuildInfo) string {
	if info.Main.Path == modulePath {
		return mainVersion(info)
	}
	for _, d := range info.Deps {
		if d.Path == modulePath {
			return d.Version
		}
	}
	return "unknown"
}

// mainVersion is the version of the main module. Builds from a checkout are called
// (devel) or have a version derived from the revision.
func mainVersion(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version != "" && version != "(devel)" {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel " + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
