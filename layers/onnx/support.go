package onnx

import (
	"maps"
	"slices"
	"strings"
)

// Support says how far an operator is supported.
type Support string

// The kinds of support.
const (
	Whole   Support = "supported" // with derivatives
	Frozen  Support = "frozen"    // its derivative counts as 0, or it takes constants alone: no uncertain weight before it
	Refused Support = "refused"
)

// OperatorSupport is an operator of ONNX, or of a package that registers operators, with its support.
type OperatorSupport struct {
	Name    string
	Support Support
	Reason  string // why it is frozen or refused
}

// frozen are the supported operators that pass no derivative on, by the reasons.
var frozen = map[string]string{
	"takes constants alone, such as shapes": "Constant ConstantOfShape Range Shape Size EyeLike ReduceProd",
	"is constant between steps":             "Ceil Floor Round Sign Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor Not IsInf IsNaN",
	"gives places, which have no slope":     "ArgMax ArgMin Hardmax OneHot",
}

// refused are the operators of ONNX's own domain, up to opset 24, that are refused, by the reasons.
var refused = map[string]string{
	"the shape of its output depends on the values":              "Compress NonMaxSuppression NonZero Unique",
	"graphs inside a node are not supported":                     "If Loop Scan SequenceMap",
	"sequences and optional values are not supported":            "ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SplitToSequence",
	"texts are not supported":                                    "LabelEncoder RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer",
	"it draws random numbers":                                    "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
	"quantised weights and integers in arithmetic have no slope": "BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BitCast ConvInteger DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv QLinearMatMul QuantizeLinear",
	"it belongs to a loss, not to a network":                     "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
	"signals are best transformed before the network":            "BlackmanWindow DFT HammingWindow HannWindow MelWeightMatrix STFT",
	"it belongs to a cache of a generation":                      "TensorScatter",
	"it reads files":                                             "ImageDecoder",
	"it is out of use; export with a newer opset":                "Scatter Upsample",
	"it is not supported yet":                                    "AffineGrid CenterCropPad Col2Im DeformConv Det GlobalLpPool GridSample LpPool MaxRoiPool MaxUnpool ReverseSequence RoiAlign",
}

// Supported lists the operators that networks may have, and those of ONNX's own that are refused, in alphabetical order.
func Supported() []OperatorSupport {
	all := map[string]OperatorSupport{}
	for _, name := range Operators() {
		all[name] = OperatorSupport{name, Whole, ""}
	}
	note := func(of map[string]string, s Support) {
		for reason, names := range of {
			for name := range strings.FieldsSeq(names) {
				if _, registered := all[name]; s == Refused && registered {
					continue // by another package
				}
				all[name] = OperatorSupport{name, s, reason}
			}
		}
	}
	note(frozen, Frozen)
	note(refused, Refused)
	return slices.SortedFunc(maps.Values(all), func(a, b OperatorSupport) int { return strings.Compare(a.Name, b.Name) })
}
