package layers

// For tests outside the package.
var (
	Forms      = forms.kinds
	LayerKinds = layerKinds.kinds
)
