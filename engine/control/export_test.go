package control

import (
	"bufio"
	"io"
)

// ReadRequest is readLine for the fuzz test.
func ReadRequest(r io.Reader) {
	var got request
	_ = readLine(bufio.NewReader(r), &got)
}
