package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/metrics"
	"time"

	"github.com/writ-dev/writ/engine/diag"
)

// Ends of an evaluator.
const (
	endedWell   = 0
	endedBadly  = 1
	endedMemory = 3
)

// watchEvery is how often an evaluator looks at its memory.
const watchEvery = 10 * time.Millisecond

var errMemory = errors.New("too much memory")

// task is what an evaluator reads, and answer what it writes, as JSON.
type task struct {
	File   string
	Text   []byte
	Limit  time.Duration
	Memory int64
}

type answer struct {
	Trees    []wireTree
	Problems []wireProblem
}

type wireTree struct {
	Root   *wireNode
	Broken bool   `json:",omitempty"`
	Maker  string `json:",omitempty"`
}

// wireNode is a node; keys stand before values in Items' order.
type wireNode struct {
	Form  form
	Text  string          `json:",omitempty"`
	At    diag.Position   `json:",omitzero"`
	Keys  []string        `json:",omitempty"`
	KeyAt []diag.Position `json:",omitempty"`
	Items []*wireNode     `json:",omitempty"`
}

// wireProblem is an error: evaluation knows no warnings.
type wireProblem struct {
	At                  diag.Position
	Code, Message, Hint string
	Related             []diag.Related
}

// ServeEvaluation is the whole work of an evaluator: it reads one task,
// evaluates it and writes the answer. It returns the code with which the
// process is to exit. When the task takes too much memory or time it ends the
// process by itself, because CUE cannot be stopped in another way.
func ServeEvaluation(in io.Reader, out io.Writer) int {
	var t task
	if err := json.NewDecoder(io.LimitReader(in, 2*MaxFile)).Decode(&t); err != nil {
		return endedBadly
	}
	// The parent ends an evaluator in time; this is for when there is none any
	// more.
	time.AfterFunc(2*t.Limit+time.Second, func() { os.Exit(endedBadly) })
	go watchMemory(t.Memory)
	m := evaluate(context.Background(), t.File, t.Text)
	if err := json.NewEncoder(out).Encode(pack(m)); err != nil {
		return endedBadly
	}
	return endedWell
}

func watchMemory(limit int64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for {
		if metrics.Read(sample); sample[0].Value.Uint64() > uint64(limit) {
			os.Exit(endedMemory)
		}
		time.Sleep(watchEvery)
	}
}

// evaluateThere evaluates in a process of its own. It gets no environment and
// nothing but the text.
func evaluateThere(ctx context.Context, o Options, file string, text []byte) (made, error) {
	input, err := json.Marshal(task{file, text, o.Limit, o.Memory})
	if err != nil {
		return made{}, fmt.Errorf("write the task: %w", err)
	}
	command := exec.CommandContext(ctx, o.Evaluator[0], o.Evaluator[1:]...)
	command.Env = []string{}
	command.Stdin = bytes.NewReader(input)
	output, err := command.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == endedMemory {
		return made{}, errMemory
	}
	if err != nil {
		return made{}, fmt.Errorf("run the evaluator: %w", err)
	}
	var a answer
	if err := json.Unmarshal(output, &a); err != nil {
		return made{}, fmt.Errorf("read the answer of the evaluator: %w", err)
	}
	return a.unpack(), nil
}

func pack(m made) answer {
	var a answer
	for _, t := range m.trees {
		a.Trees = append(a.Trees, wireTree{packNode(t.root), t.broken, t.maker})
	}
	for _, d := range m.problems {
		a.Problems = append(a.Problems, wireProblem{d.At, d.Code, d.Message, d.Hint, d.Related})
	}
	return a
}

func packNode(n *node) *wireNode {
	w := &wireNode{Form: n.form, Text: n.text, At: n.at}
	for _, k := range n.keys {
		w.Keys = append(w.Keys, k.name)
		w.KeyAt = append(w.KeyAt, k.at)
	}
	for _, item := range n.items {
		w.Items = append(w.Items, packNode(item))
	}
	return w
}

func (a answer) unpack() made {
	var m made
	for _, t := range a.Trees {
		m.trees = append(m.trees, tree{t.Root.unpack(), t.Broken, t.Maker})
	}
	for _, p := range a.Problems {
		d := m.problems.Errorf(p.At, p.Code, "%s", p.Message).Hinted("%s", p.Hint)
		d.Related = p.Related
	}
	return m
}

func (w *wireNode) unpack() *node {
	n := &node{form: w.Form, text: w.Text, at: w.At}
	for i, name := range w.Keys {
		n.keys = append(n.keys, key{name, w.KeyAt[i]})
	}
	for _, item := range w.Items {
		n.items = append(n.items, item.unpack())
	}
	return n
}
