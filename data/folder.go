package data

import (
	"fmt"
	"os"
	"path/filepath"
)

// FolderVariable is the environment variable that names the folder of all data sets.
const FolderVariable = "VALLA_DATA"

// Folder returns the folder below which every data set has its own: the one that
// [FolderVariable] names or, where that is empty, valla/data in the user's cache folder
// (see [os.UserCacheDir]). It neither makes the folder nor looks whether it exists. It is
// an error if the system knows no cache folder for the user.
func Folder() (string, error) {
	if dir := os.Getenv(FolderVariable); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for data sets, %s names one: %w", FolderVariable, err)
	}
	return filepath.Join(cache, "valla", "data"), nil
}
