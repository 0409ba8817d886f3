// Package serve answers predictions over HTTP: the REST form of the Open Inference Protocol
// (KServe v2) with its binary tensors, a plain POST of JSON rows or CSV, and a page with a
// form. Requests that wait at the same time are computed together, in a bounded queue.
// Models are loaded again when their files change.
package serve
