// Package tabular reads the large regression tables of the VaLLA paper (Ortega,
// Rodríguez-Santana and Hernández-Lobato 2024, section 5): Year, Airline and Taxi,
// and smaller public tables of the same form. [Sets] lists them, and
// [Set.Open] reads one.
//
// A table has N rows of D features and a target. It is read row by row into one
// piece of memory, N·(D+1) values of the type asked for: nothing else grows with N.
// Features, filters, order and splits are those of the authors' code
// (utils/dataset.py of Ludvins/Variational-LLA).
//
// Files are CSV (plain, or in gzip, bzip2 or a zip archive of one) or Parquet. A
// file that is not what it should be is refused with one line that names the file,
// the place, what was expected and what was found; nothing of it is used.
//
// A new data set is one file that describes it as a [Set], and its line in [Sets].
package tabular
