package data

import (
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // a format that is read
	_ "image/png"  // a format that is read
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/internal/resize"
)

// maxPixels bounds the size of an image in a folder.
const maxPixels = 1 << 26

// readImages reads the PNG and JPEG files of a folder as a table whose X is uint8 [N,C,H,W],
// where C is 1 for grey and 3 for red, green and blue. Each image is resized to H×W as by
// Pillow's BILINEAR, whatever its proportions; a transparent one lies on black.
//
// If the images are in folders of their own within the folder, one for each class, the column
// class has the number of each image's folder in alphabetical order, from 0 on. Otherwise the
// table has no columns. Files of other kinds, and those whose names start with a dot, are passed
// over. Images are in alphabetical order of their paths.
// A part that is not nil limits the images to its range.
func readImages(folder string, channels, height, width int, part *Part) (*Table, error) {
	if channels != 1 && channels != 3 || height < 1 || width < 1 {
		return nil, fmt.Errorf("%s: images for inputs of shape [%d %d %d], expected 1 or 3 channels, rows and columns", folder, channels, height, width)
	}
	paths, classes, err := imagePaths(folder)
	if err != nil {
		return nil, err
	}
	if part != nil {
		if err := part.within(int64(len(paths))); err != nil {
			return nil, err
		}
		paths = paths[part.From:part.To]
		if classes != nil {
			classes = classes[part.From:part.To]
		}
	}
	size := channels * height * width
	pixels := make([]uint8, 0, len(paths)*size)
	var r resize.Resizer
	for _, path := range paths {
		planes, h, w, err := readImage(path, channels)
		if err != nil {
			return nil, err
		}
		pixels = pixels[:len(pixels)+size]
		r.Resize(pixels[len(pixels)-size:], height, width, planes, h, w, resize.Triangle)
	}
	t := &Table{Path: folder, X: tensor.New(tensor.WithShape(len(paths), channels, height, width), tensor.WithBacking(pixels))}
	if classes == nil {
		return t, nil
	}
	return t.join([]string{"class"}, classes)
}

// imagePaths lists the images of a folder, and their classes if it has folders.
func imagePaths(folder string) (paths []string, classes []float64, err error) {
	files, folders, err := visible(folder)
	if err != nil {
		return nil, nil, err
	}
	if len(files) > 0 && len(folders) > 0 {
		return nil, nil, fmt.Errorf("%s: images beside the folder %q, expected images or a folder for each class", folder, folders[0])
	}
	paths = files
	for k, f := range folders {
		own, deeper, err := visible(f)
		if err != nil {
			return nil, nil, err
		}
		if len(own) == 0 || len(deeper) > 0 {
			return nil, nil, fmt.Errorf("%s: %d images and %d folders, expected the images of one class", f, len(own), len(deeper))
		}
		paths = append(paths, own...)
		classes = append(classes, slices.Repeat([]float64{float64(k)}, len(own))...)
	}
	if len(paths) == 0 {
		return nil, nil, fmt.Errorf("%s: no images called .png, .jpg or .jpeg", folder)
	}
	return paths, classes, nil
}

// visible lists the images and the folders in a folder.
func visible(folder string) (files, folders []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		switch ending := strings.ToLower(filepath.Ext(path)); {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			folders = append(folders, path)
		case ending == ".png", ending == ".jpg", ending == ".jpeg":
			files = append(files, path)
		}
	}
	return files, folders, nil
}

// readImage returns the planes [channels,h,w] of an image.
func readImage(path string, channels int) (planes []uint8, h, w int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, 0, err
	}
	defer f.Close()
	c, _, err := image.DecodeConfig(f)
	if err == nil && (c.Width < 1 || c.Height < 1 || c.Width > maxPixels/c.Height) {
		err = fmt.Errorf("%d×%d pixels, expected at most %d", c.Height, c.Width, maxPixels)
	}
	if err == nil {
		_, err = f.Seek(0, 0)
	}
	var img image.Image
	if err == nil {
		img, _, err = image.Decode(f)
	}
	if err != nil {
		return nil, 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	b := img.Bounds()
	h, w = b.Dy(), b.Dx()
	planes = make([]uint8, channels*h*w)
	for i := range h * w {
		at := img.At(b.Min.X+i%w, b.Min.Y+i/w)
		if channels == 1 {
			planes[i] = color.GrayModel.Convert(at).(color.Gray).Y
			continue
		}
		red, green, blue, _ := at.RGBA()
		for k, v := range []uint32{red, green, blue} {
			planes[k*h*w+i] = uint8(v >> 8)
		}
	}
	return planes, h, w, nil
}
