//go:build !unix

package rooted

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

const doNotWait = 0

// copyOwner does nothing: a new file inherits its owner from the folder.
func copyOwner(*os.File, fs.FileInfo) error { return nil }

// settle does nothing: a folder cannot be flushed here.
func (f *Folder) settle(string) error { return nil }

func isFull(error) bool     { return false }
func isReadOnly(error) bool { return false }
func isEnd(err error) bool  { return errors.Is(err, io.EOF) }
