package data

import (
	"fmt"
	"os"
	"path/filepath"
)

// FolderVariable is the environment variable that names the folder of all data sets.
const FolderVariable = "VALLA_DATA"

// Folder returns the folder in which every data set has a folder of its own. It is the one
// that [FolderVariable] names or, if that is empty, valla/data in the user's cache folder
// (see [os.UserCacheDir]). Folder neither makes the folder nor looks whether it exists. It
// returns an error if the system knows no cache folder for the user.
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
