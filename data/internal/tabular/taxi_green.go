package tabular

import "github.com/go-valla/valla/data/internal/fetch"

// taxiGreen is a small table with the same columns as Taxi: the rides of the green taxis,
// which serve the outer boroughs, in the same month.
func taxiGreen() Set {
	const file = "green_tripdata_2023-01.parquet"
	s := rides("lpep", Set{
		Name:   "taxi-green",
		Title:  "Green taxi rides, January 2023 (New York City Taxi and Limousine Commission)",
		Folder: "taxi_proxy",
		files:  append([]string{file}, packed("green_2023-01_8feat.csv")...),
	})
	s.Download = rideFiles(s, fetch.File{
		Name: file, Size: 1856865,
		SHA256: "1851c96c36f344686937654f1df392c74bbdb31c00b019bea3dfeca3780c2e94",
	})
	return s
}
