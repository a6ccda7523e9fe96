// Command generate answers one question: what follows from the grammar? It
// derives the JSON Schema of each kind, one schema of all kinds for editors,
// and the reference pages from schema/*.cue. It knows only the forms of CUE
// whose whole meaning it can keep, and refuses every other, so that a bound or
// a pattern is never dropped silently. It runs at build time only.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	// go generate runs in the folder of the grammar.
	if err := run("..", os.WriteFile); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run derives every file of the repository at root and hands it to write.
func run(root string, write func(name string, data []byte, mode os.FileMode) error) error {
	g, err := read(os.DirFS(filepath.Join(root, "schema")))
	if err != nil {
		return err
	}
	files, err := g.schemas()
	if err != nil {
		return err
	}
	pages, err := g.pages()
	if err != nil {
		return err
	}
	for _, file := range append(files, pages...) {
		if err := write(filepath.Join(root, filepath.FromSlash(file.name)), file.data, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", file.name, err)
		}
	}
	return nil
}

type file struct {
	name string // from the root of the repository, with slashes
	data []byte
}
