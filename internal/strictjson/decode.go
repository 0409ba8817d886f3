// Package strictjson decodes JSON documents that the program has written itself. A key that it does not know tells of damage, or of
// another version.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Decode decodes the JSON document text into the value that v points to. A key for which the value has no field is an error, and so is
// text after the document.
func Decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("text after its end")
	}
	return nil
}
