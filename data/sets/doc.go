// Package sets is the table of all data sets that the program knows by name. [All] lists
// them, and [Lookup] finds one. A [Set] says where it comes from, downloads its files and
// reads them.
//
// Every set has a folder below one data folder, which [data.Folder] names by default. Two
// commands share that folder: "valla data get" fills it and "valla experiment run" reads
// it. Where files are missing the error is a [MissingError], which says in one line how to
// get them.
//
// A new set is one entry. It is in images.go for images, in tables.go for a small table, and
// in package tabular for a large table; this table contains the sets of that package. The
// test TestConformance then checks the entry.
package sets
