//go:build !linux

package store_test

import "errors"

// fill needs a file system of its own, which only Linux gives to a test.
func fill(string) error { return errors.New("no file system to fill on this system") }
