package layertest

// CheckForm is for tests outside the package.
var CheckForm = checkForm
