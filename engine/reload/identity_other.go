//go:build !unix

package reload

import "io/fs"

// identity is not told by a look at a folder on this system.
func identity(line []byte, _ fs.FileInfo) []byte { return line }
