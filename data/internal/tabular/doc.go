// Package tabular reads the large regression tables of the VaLLA paper (Ortega,
// Rodríguez-Santana and Hernández-Lobato 2024, section 5): Year, Airline and Taxi,
// and smaller public tables of the same form. [Sets] lists them, and
// [Set.Open] reads one.
//
// A table has N rows of D features and a target. Package data reads it in batches of rows, which
// become N·(D+1) values; no other memory grows with N.
// Features, filters, order and splits come from the authors' code
// (utils/dataset.py of github.com/Ludvins/Variational-LLA).
//
// Files are Parquet or CSV, which may be packed with gzip or bzip2 or be alone in a zip
// archive. A file with a fault is refused as a whole, and the error is one line that names
// the file, the place, what was expected and what was found.
//
// A new data set is a function here, which describes it as a [Set], its name in [Sets], and a
// row in the conformance test of package sets.
package tabular
