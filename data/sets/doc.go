// Package sets is the table of all data sets that the program knows by name: [All] lists
// them, [Lookup] finds one, and a [Set] says where it comes from, gets its files and reads
// them.
//
// Every set has a folder below one data folder, which [data.Folder] names by default. Two
// commands share that folder: "valla data get" fills it and "valla experiment run" reads
// it. Where files are missing the error is a [MissingError], which says in one line how to
// get them.
//
// A new set is one entry: of images in images.go, of a small table in tables.go, and of a
// large table in package tabular, whose sets belong to this table. The test
// TestConformance then checks the entry.
package sets
