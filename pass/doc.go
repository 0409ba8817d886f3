// Package pass applies a model to data that one loop would take too long for, or that lie in many
// files. A pass is a [Job]: a model, files of rows, and a [Task]. The files are divided into parts, see
// [data.Divide]. The result of a part is a file, the part's shard: predictions, or sums over rows. A
// shard depends on the part and the model alone, and workers share nothing else. Goroutines, array
// jobs and engines such as Beam therefore do the same work and give the same bytes.
//
// A folder holds the job and its shards:
//
//	job.json            the job, which each worker compares with its own
//	part-000007.csv     a shard of predictions; a shard of sums ends in .zip
//	part-000007.json    the record of the shard, a [Shard], written after the shard
//	manifest.json       all records, written when all shards are there
//
// Every file is whole or absent. A part with a record is finished, and is not done again.
package pass
