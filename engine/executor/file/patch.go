package file

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/rooted"
	"github.com/writ-dev/writ/engine/template"
)

// patch is a change that was computed and shown.
type patch struct {
	before rooted.State
	result []byte
}

// preparePatch computes the change from the file as it is now. A call that is
// prepared again thereby reads the live file again: if it differs from what
// was approved, so does what is bound.
func (e *Executor) preparePatch(input executor.Input, p *plan, effect *call.Effect) error {
	lookup := template.Values(map[string]any{"args": input.Arguments})
	oldText, err := e.oldText.Text(lookup)
	if err != nil {
		return fmt.Errorf("old_text: %w", err)
	}
	newText, err := e.newText.Text(lookup)
	if err != nil {
		return fmt.Errorf("new_text: %w", err)
	}
	if oldText == newText {
		return errors.New("old_text and new_text are the same, so nothing would change")
	}
	if input.Offline {
		effect.Bound["old_text"], effect.Bound["new_text"] = oldText, newText
		effect.Preview += fmt.Sprintf("\nreplace %q\nby %q", oldText, newText)
		effect.Unresolved = append(effect.Unresolved, "the content of "+rooted.Label(p.resource))
		return nil
	}
	folder, name, err := rooted.OpenParent(p.resource, e.guard)
	if err != nil {
		return err
	}
	defer folder.Close()
	before, content, err := snapshot(folder, name)
	if err != nil {
		return err
	}
	if !before.Exists && oldText != "" {
		return &rooted.PathError{Name: rooted.Shown(folder.Name(name)), Why: "does not exist, and only an empty old_text creates a file"}
	}
	result, err := edit(content, oldText, newText)
	if err != nil {
		return &rooted.PathError{Name: rooted.Shown(folder.Name(name)), Why: err.Error()}
	}
	p.patch = &patch{before: before, result: result}
	sum := sha256.Sum256(result)
	effect.Bound["before"] = before.Bound()
	effect.Bound["after_sha256"] = call.Digest(sum).String()
	effect.Preview += "\n" + difference(rooted.Label(p.resource), before.Exists, string(content), string(result))
	return nil
}

// snapshot reads a file together with its state.
func snapshot(folder *rooted.Folder, name string) (rooted.State, []byte, error) {
	content, err := contents(folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return rooted.State{}, nil, nil
	}
	if err != nil {
		return rooted.State{}, nil, err
	}
	state, err := folder.State(name)
	if err == nil && state.Digest != sha256.Sum256(content) {
		err = &rooted.PathError{Name: rooted.Shown(folder.Name(name)), Why: rooted.ErrChanged.Error()}
	}
	return state, content, err
}

// edit replaces the one place where oldText stands (T-17).
func edit(content []byte, oldText, newText string) ([]byte, error) {
	text := string(content)
	switch {
	case !utf8.Valid(content):
		return nil, errors.New("is not UTF-8 text")
	case oldText == "" && text != "":
		return nil, errors.New("is not empty, and an empty old_text only creates a file or fills an empty one")
	}
	if oldText != "" {
		at := strings.Index(text, oldText)
		if at < 0 {
			return nil, errors.New("does not contain old_text")
		}
		// Overlapping occurrences count as well: either could be meant.
		if strings.Contains(text[at+1:], oldText) {
			return nil, errors.New("contains old_text more than once, include more of the lines around it")
		}
		newText = text[:at] + newText + text[at+len(oldText):]
	}
	if len(newText) > SizeLimit {
		return nil, errors.New("would become larger than 1 MiB")
	}
	return []byte(newText), nil
}

// apply writes the result over the very file that was shown.
func (e *Executor) apply(p plan) ([]byte, error) {
	if p.patch == nil {
		return nil, errors.New("the call was prepared without reading the file")
	}
	folder, name, err := rooted.OpenParent(p.resource, e.guard)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if err := folder.Replace(name, p.patch.before, p.patch.result); err != nil {
		return nil, err
	}
	verb := "changed"
	if !p.patch.before.Exists {
		verb = "created"
	}
	sum := sha256.Sum256(p.patch.result)
	return fmt.Appendf(nil, "%s %s: %d bytes, sha256 %x\n", verb, rooted.Shown(folder.Name(name)), len(p.patch.result), sum), nil
}
