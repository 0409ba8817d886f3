package torch

import (
	"reflect"
	"strings"
	"testing"
)

// TestValues: each operation that pushes a value pushes the value that Python's pickletools names.
func TestValues(t *testing.T) {
	for pickle, want := range map[string]any{
		"N.":                 nil,
		"\x88.":              true,
		"\x89.":              false,
		"K\xff.":             int64(255),
		"M\x01\x02.":         int64(513),
		"J\xfe\xff\xff\xff.": int64(-2),
		"\x8a\x00.":          int64(0),
		"\x8a\x01\xfe.":      int64(-2),
		"\x8a\x02\x00\x80.":  int64(-32768),
		"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.": int64(1<<63 - 1),
		"G\xbf\xf8\x00\x00\x00\x00\x00\x00.":        -1.5,
		"X\x02\x00\x00\x00ab.":                      "ab",
		"\x8c\x01a.":                                "a",
		"\x8d\x01\x00\x00\x00\x00\x00\x00\x00a.":    "a",
		").":                                        tuple{},
		"K\x01\x85.":                                tuple{int64(1)},
		"K\x01K\x02\x86.":                           tuple{int64(1), int64(2)},
		"K\x01K\x02K\x03\x87.":                      tuple{int64(1), int64(2), int64(3)},
		"(K\x01NK\x02t.":                            tuple{int64(1), nil, int64(2)},
		"].":                                        &list{},
		"]K\x01a.":                                  &list{[]any{int64(1)}},
		"](K\x01K\x02e.":                            &list{[]any{int64(1), int64(2)}},
		"}.":                                        &dict{},
		"}K\x01Ns.":                                 &dict{[]any{int64(1)}, []any{nil}},
		"}(K\x01NK\x02\x88u.":                       &dict{[]any{int64(1), int64(2)}, []any{nil, true}},
		"K\x01K\x020.":                              int64(1),
		"K\x07q\x05K\x080h\x05.":                    int64(7),
		"K\x07r\x05\x01\x00\x000j\x05\x01\x00\x00.": int64(7),
		"K\x07\x94K\x08\x940h\x00.":                 int64(7),
		"\x80\x04\x95aaaaaaaaN.":                    nil,
	} {
		got, err := load([]byte(pickle))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %#v (error %v), want %#v", pickle, got, err, want)
		}
	}
}

// TestRefusedCalls: a call of a function that may occur is refused with arguments that PyTorch does
// not write.
func TestRefusedCalls(t *testing.T) {
	rebuild, data := "ctorch._utils\n_rebuild_tensor_v2\n", "("+text("storage")+"ctorch\nFloatStorage\n"+text("0")+text("cpu")+"K\x01tQ"
	for pickle, want := range map[string]string{
		"ccollections\nOrderedDict\nK\x01\x85R.":                      `a call of "collections.OrderedDict" with 1 arguments`,
		"ctorch._utils\n_rebuild_parameter\n)R.":                      "with 0 arguments",
		rebuild + data + "\x85R.":                                     "with 1 arguments",
		rebuild + "(K\x01K\x00))tR.":                                  "a tensor of int64",
		rebuild + "(" + data + "N))tR.":                               "expected data, offset, shape and strides",
		rebuild + "(" + data + "K\x00])tR.":                           "expected data, offset, shape and strides",
		rebuild + "(" + data + "K\x00)(NttR.":                         "expected data, offset, shape and strides",
		"K\x01)R.":                                                    `a call of ""`,
		"ctorch\nFloatStorage\n)R.":                                   `a call of "torch.FloatStorage"`,
		"K\x01Q.":                                                     "a reference to something other than the data",
		"(" + text("storage") + "K\x01tQ.":                            "a reference to something other than the data",
		"(" + text("module") + "NNtQ.":                                "a reference to something other than the data",
		"(" + text("storage") + "ctorch\nFloatStorage\nK\x00tQ.":      "expected a storage of PyTorch",
		"(" + text("storage") + "ccollections\nOrderedDict\nK\x00tQ.": "expected a storage of PyTorch",
		"K\x01K\x02\x93.":                                             "a class without a name",
		"}(K\x01Nt":                                                   "ends early",
		"K":                                                           "ends early: 1 bytes expected, 0 are left",
		"":                                                            "ends early",
		"Ns.":                                                         "empty stack",
		"a.":                                                          "empty stack",
		"K\x01Na.":                                                    "items for a int64",
		"q\x01.":                                                      "empty stack",
		"b.":                                                          "empty stack",
	} {
		got, err := load([]byte(pickle))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is %#v (error %v), want an error with %q", pickle, got, err, want)
		}
	}
}

// TestStateDict: the dictionary of tensors is the whole or the value of one of three keys.
func TestStateDict(t *testing.T) {
	inner := &dict{[]any{"w"}, []any{stored{}}}
	for _, key := range []string{"state_dict", "model_state_dict", "model"} {
		if got, err := stateDict(&dict{[]any{"epoch", key}, []any{int64(1), inner}}); err != nil || got != inner {
			t.Errorf("%s: %v, error %v", key, got, err)
		}
	}
	whole := &dict{[]any{"model", "w"}, []any{stored{}, stored{}}} // a tensor called model
	if got, err := stateDict(whole); err != nil || got != whole {
		t.Errorf("a tensor called model: %v, error %v", got, err)
	}
	for _, root := range []any{nil, int64(1), tuple{}, &list{}, "w"} {
		if _, err := stateDict(root); err == nil || !strings.Contains(err.Error(), "expected a dictionary of tensors") {
			t.Errorf("%T: error %v", root, err)
		}
	}
}
