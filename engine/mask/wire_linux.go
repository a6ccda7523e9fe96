package mask

import (
	"encoding/binary"
	"errors"
)

// maxMessage is what is sent in one message; more goes by a file in memory.
const maxMessage = 32 << 10

// encode writes path, folder, arguments and variables, each with its length.
func encode(p Program) []byte {
	out := make([]byte, 0, 1024)
	text := func(s string) {
		out = binary.AppendUvarint(out, uint64(len(s)))
		out = append(out, s...)
	}
	text(p.Path)
	text(p.Cwd)
	for _, list := range [][]string{p.Argv, p.Environ} {
		out = binary.AppendUvarint(out, uint64(len(list)))
		for _, s := range list {
			text(s)
		}
	}
	return out
}

var errMessage = errors.New("the message is cut off")

type decoder struct{ rest []byte }

func (d *decoder) number() (uint64, error) {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		return 0, errMessage
	}
	d.rest = d.rest[size:]
	return n, nil
}

func (d *decoder) text() (string, error) {
	n, err := d.number()
	if err != nil || n > uint64(len(d.rest)) {
		return "", errMessage
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s, nil
}

func (d *decoder) list() ([]string, error) {
	n, err := d.number()
	if err != nil || n > uint64(len(d.rest)) {
		return nil, errMessage
	}
	out := make([]string, n)
	for i := range out {
		if out[i], err = d.text(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decode reads what encode wrote.
func decode(message []byte) (p Program, err error) {
	d := decoder{message}
	if p.Path, err = d.text(); err != nil {
		return p, err
	}
	if p.Cwd, err = d.text(); err != nil {
		return p, err
	}
	if p.Argv, err = d.list(); err != nil {
		return p, err
	}
	if p.Environ, err = d.list(); err != nil {
		return p, err
	}
	if len(d.rest) > 0 {
		return p, errMessage
	}
	return p, nil
}
