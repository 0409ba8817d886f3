package command

import "regexp"

var (
	settingValue = regexp.MustCompile(`(^|[ (])([a-z]+(?:-[a-z]+)*)=([a-z0-9-]+)`)
	settingName  = regexp.MustCompile(`\bthe setting ([a-z]+(?:-[a-z]+)*)`)
)

// flagged returns a sentence of a library with flags in place of settings: "--hyper grid" for "hyper=grid", and
// "--noise-std" for "the setting noise-std".
func flagged(sentence string) string {
	return settingName.ReplaceAllString(settingValue.ReplaceAllString(sentence, "$1--$2 $3"), "--$1")
}
