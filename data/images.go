package data

import (
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // a format that is read
	_ "image/png"  // a format that is read
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/internal/resize"
	"github.com/go-valla/valla/internal/tablefile"
)

// maxPixels bounds the size of an image in a folder.
const maxPixels = 1 << 26

// imageRows is the source of the PNG and JPEG files of a folder, as uint8 [N,C,H,W], where C is 1 for grey and 3 for red, green and
// blue. Each image is resized to H×W as by Pillow's BILINEAR, whatever its proportions; transparency does not count. An image is
// read when its batch is.
//
// If the images are in folders of their own within the folder, one for each class, the column
// class has the number of each image's folder in alphabetical order, from 0 on. The column file has
// the path of the image within the folder, with slashes. It is read only where it is used. Files of other kinds, and those whose names start with a dot, are passed
// over. Images are in alphabetical order of their paths.
type imageRows struct {
	folder  string    // that was opened
	shape   []int     // C, H and W
	paths   []string  // of the images that are left
	classes []float64 // of these; nil without classes
	folders []string  // the names of the classes; nil without classes
	resizer resize.Resizer
	others  int // images of other kinds, which were passed over and not told yet
}

// openImages opens a folder of images, or the images of a part.
func (r TableReader) openImages(path string, part *Part) (*Stream, error) {
	if len(r.Image) != 3 {
		return nil, fmt.Errorf("%s: a folder of images for inputs of shape %v, expected a file, or inputs of shape [C H W]", path, r.Image)
	}
	if c, h, w := r.Image[0], r.Image[1], r.Image[2]; c != 1 && c != 3 || h < 1 || w < 1 || h > maxPixels/w {
		return nil, fmt.Errorf("%s: images for inputs of shape %v, expected 1 or 3 channels, rows and columns, and at most %d pixels", path, r.Image, maxPixels)
	}
	i, err := listImages(path)
	if err != nil {
		return nil, err
	}
	i.shape = slices.Clone(r.Image)
	first := 0
	if part != nil {
		if err := part.within(int64(len(i.paths))); err != nil {
			return nil, err
		}
		first = int(part.From)
		i.skip(first, int(part.To))
	}
	s := &Stream{Path: path, Images: true, Name: fileColumn, Rows: int64(len(i.paths)), First: first, inputBytes: int64(i.size()), source: i}
	if i.classes != nil {
		s.Columns, s.folders = []string{"class"}, i.folders
	}
	s.useAll()
	s.Columns = append(s.Columns, fileColumn)
	return s, nil
}

// fileColumn is the column of the paths of images.
const fileColumn = "file"

// skip leaves the images from a number up to another.
func (i *imageRows) skip(from, to int) {
	i.paths = i.paths[from:to]
	if i.classes != nil {
		i.classes = i.classes[from:to]
	}
}

// size is the number of bytes of an image.
func (i *imageRows) size() int { return i.shape[0] * i.shape[1] * i.shape[2] }

func (i *imageRows) next(b *batch, n int) error {
	n = min(n, len(i.paths))
	if n == 0 {
		return io.EOF
	}
	if i.others > 0 {
		b.notes = append(b.notes, fmt.Sprintf("%s: %d images are neither PNG nor JPEG and were left out.", b.Path, i.others))
		i.others = 0
	}
	pixels := make([]uint8, n*i.size())
	for k, path := range i.paths[:n] {
		planes, h, w, err := readImage(path, i.shape[0])
		if err != nil {
			return err
		}
		i.resizer.Resize(pixels[k*i.size():(k+1)*i.size()], i.shape[1], i.shape[2], planes, h, w, resize.Triangle)
		b.n = k // the row of the words
		for j, u := range b.use {
			if u.name == fileColumn {
				b.word(j, []byte(i.within(path)), k)
			} else {
				b.values = append(b.values, i.classes[k])
			}
		}
	}
	b.x, b.n = tensor.New(tensor.WithShape(append([]int{n}, i.shape...)...), tensor.WithBacking(pixels)), n
	i.skip(n, len(i.paths))
	return nil
}

// within returns the path of an image within the folder, with slashes.
func (i *imageRows) within(path string) string {
	if inside, err := filepath.Rel(i.folder, path); err == nil {
		path = inside
	}
	return strings.ToValidUTF8(filepath.ToSlash(path), "\uFFFD")
}

func (*imageRows) close() {}

// listImages lists the images of a folder, and their classes if it has folders.
func listImages(folder string) (*imageRows, error) {
	files, folders, others, err := visible(folder)
	if err != nil {
		return nil, err
	}
	if len(files) > 0 && len(folders) > 0 {
		return nil, fmt.Errorf("%s: images beside the folder %q, expected images or a folder for each class", folder, folders[0])
	}
	i := &imageRows{folder: folder, paths: files, others: others}
	for k, f := range folders {
		own, deeper, others, err := visible(f)
		if err != nil {
			return nil, err
		}
		if len(own) == 0 || len(deeper) > 0 {
			return nil, fmt.Errorf("%s: %d images and %d folders, expected the images of one class", f, len(own), len(deeper))
		}
		i.others += others
		i.paths, i.folders = append(i.paths, own...), append(i.folders, filepath.Base(f))
		i.classes = append(i.classes, slices.Repeat([]float64{float64(k)}, len(own))...)
	}
	if len(i.paths) == 0 {
		return nil, fmt.Errorf("%s: no images called .png, .jpg or .jpeg", folder)
	}
	return i, nil
}

// visible lists the images and the folders in a folder, and counts the images of kinds that are not read. A link is what it leads to.
func visible(folder string) (files, folders []string, others int, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, 0, err
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		directory := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(path)
			if err != nil {
				return nil, nil, 0, err
			}
			directory = info.IsDir()
		}
		switch ending := strings.ToLower(filepath.Ext(path)); {
		case directory:
			folders = append(folders, path)
		case ending == ".png", ending == ".jpg", ending == ".jpeg":
			files = append(files, path)
		case slices.Contains([]string{".gif", ".bmp", ".tif", ".tiff", ".webp", ".heic", ".avif"}, ending):
			others++
		}
	}
	return files, folders, others, nil
}

// folderPlaces returns the places [N,1] of the folders of the images among the names of classes.
func (t *Table) folderPlaces(j int, names []string) (*tensor.Dense, error) {
	places := make([]float64, len(t.Folders))
	for i, folder := range t.Folders {
		place := slices.Index(names, folder)
		if place < 0 {
			return nil, fmt.Errorf("%s: column %q: expected %s, found the folder %s", t.Path, t.Columns[j], oneOf(names), tablefile.Quoted(folder))
		}
		places[i] = float64(place)
	}
	y := t.pick([]int{j})
	renumber(y, places)
	return y, nil
}

// opaque returns a colour without its transparency, as Pillow's convert does.
func opaque(c color.Color) color.Color {
	if _, _, _, alpha := c.RGBA(); alpha == 0xffff { // as most are: without an allocation
		return c
	}
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	return color.RGBA{n.R, n.G, n.B, 255}
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
			planes[i] = color.GrayModel.Convert(opaque(at)).(color.Gray).Y
			continue
		}
		red, green, blue, _ := opaque(at).RGBA()
		for k, v := range []uint32{red, green, blue} {
			planes[k*h*w+i] = uint8(v >> 8)
		}
	}
	return planes, h, w, nil
}
