// Package pass goes over data sets that one loop would take too long for, or that do not lie in
// one place. A pass is a [Job]: a model, files, and what is done with the rows. The files are
// divided into parts, see [data.Divide]. The work on a part is a function of the part and the
// model, [Score] or [Sum], whose result is a file, the part's shard. Nothing else is shared, so
// that goroutines, array jobs and engines such as Beam do the same work and give the same bytes.
//
// A folder holds the job and its shards:
//
//	job.json            what is done: all workers compare it with their own
//	part-000007.csv     a shard; of a fit .zip
//	part-000007.json    its [Record], written after the shard
//	manifest.json       all records, written when all shards are there
//
// Every file is whole or absent. A part whose record is there is finished and is not done again.
package pass
