// Package serve answers predictions over HTTP: the REST form of the Open Inference Protocol
// (KServe v2) with its binary tensors, a plain POST of JSON rows or CSV, and a page with a
// form. A bounded queue computes waiting requests together. A model is loaded again when its file
// changes.
package serve
