package command

import "regexp"

var (
	settingValue = regexp.MustCompile(`(^|[ (])([a-z]+(?:-[a-z]+)*)=([a-z0-9-]+)`)
	modelSetting = regexp.MustCompile(`\bthe setting ([a-z]+(?:-[a-z]+)*) of the likelihood\b`)
	settingName  = regexp.MustCompile(`\bthe setting ([a-z]+(?:-[a-z]+)*)`)
)

// flagged returns a sentence of a library with flags in place of settings: "--hyper grid" for "hyper=grid", and
// "--noise-std" for "the setting noise-std"; "--likelihood-nu" for "the setting nu of the likelihood".
func flagged(sentence string) string {
	sentence = modelSetting.ReplaceAllString(sentence, "--"+likelihoodPrefix+"$1")
	return settingName.ReplaceAllString(settingValue.ReplaceAllString(sentence, "$1--$2 $3"), "--$1")
}
