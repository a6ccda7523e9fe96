package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"
)

// floors are what times of other machines can be compared with.
func floors(b *bench) error {
	plain, err := exprRules()
	if err != nil {
		return err
	}
	text := []byte(tool(7))
	parse := func() error {
		var node yaml.Node
		return yaml.Unmarshal(text, &node)
	}
	sync, closeFile, err := b.fsync()
	if err != nil {
		return err
	}
	defer closeFile()
	figures, err := turns(b.rounds(), each(parse), each(plain), each(sync))
	if err != nil {
		return err
	}
	b.note(fmt.Sprintf("yaml.v3, a file of %d bytes", len(text)), "%s", show(median(figures[0])))
	b.note(fmt.Sprintf("Expr, %d rules", perTool+everyTool), "%s", show(median(figures[1])))
	b.note("append 450 bytes and fsync", "%s", show(median(figures[2])))
	return nil
}

func (b *bench) fsync() (operation func() error, end func(), err error) {
	f, err := os.Create(filepath.Join(b.dir, "fsync"))
	if err != nil {
		return nil, nil, fmt.Errorf("file to sync: %w", err)
	}
	line := make([]byte, 450)
	return func() error {
		if _, err := f.Write(line); err != nil {
			return err
		}
		return f.Sync()
	}, func() { _ = f.Close() }, nil
}

// parseAll parses every file of a configuration with yaml.v3 alone.
func parseAll(dir string) way {
	return func() (time.Duration, error) {
		begin := time.Now()
		paths, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
		if err != nil {
			return 0, err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return 0, err
			}
			var node yaml.Node
			if err := yaml.Unmarshal(text, &node); err != nil {
				return 0, err
			}
		}
		return time.Since(begin), nil
	}
}
