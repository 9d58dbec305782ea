package fleet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// JournalName is the name of the journal in the folder of a campaign.
const JournalName = "journal.jsonl"

// journal stores the results of a campaign, so that a coordinator that was killed goes on. Each line is one result. The
// first line identifies the campaign.
type journal struct {
	mu      sync.Mutex
	file    *os.File                   // nil: results are not stored
	id      string                     // of the campaign; it stays the same when the campaign is resumed
	results map[string]json.RawMessage // results that Do has not returned yet
	keys    map[string]bool            // tasks that have a line
	began   time.Time
	spent   time.Duration // time that the campaign took before it was resumed
}

// entry is a line of the journal.
type entry struct {
	Campaign string          `json:"campaign,omitempty"` // of the first line: what identifies the campaign
	ID       string          `json:"id,omitempty"`       // of the first line: name of the campaign in messages
	At       time.Duration   `json:"at_ns"`              // since the start of the campaign
	Key      string          `json:"key,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
}

// ErrOtherCampaign is the error for a journal of another campaign, or of another version of the program.
var ErrOtherCampaign = errors.New("the folder has the results of another campaign, or of another version of lockbench")

// openJournal creates a journal. With resume it reads the results of an earlier one with the same identity. Without an
// identity, results are not stored.
func openJournal(path, identity string, resume bool) (*journal, error) {
	j := &journal{id: newID(), results: map[string]json.RawMessage{}, keys: map[string]bool{}, began: time.Now()}
	if identity == "" {
		return j, nil
	}
	flag := os.O_CREATE | os.O_RDWR | os.O_EXCL
	if resume {
		flag = os.O_RDWR
	}
	var err error
	if j.file, err = os.OpenFile(path, flag, 0o600); err != nil { // results may name addresses of servers
		return nil, err
	}
	if resume {
		err = j.read(identity)
	} else {
		err = j.write(entry{Campaign: identity, ID: j.id})
	}
	if err != nil {
		return nil, errors.Join(err, j.file.Close())
	}
	j.began = time.Now().Add(-j.spent)
	return j, nil
}

// read reads all complete lines. A line that was cut off by a kill is removed.
func (j *journal) read(identity string) error {
	lines, length := bufio.NewReader(j.file), int64(0)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read %s at byte %d: not a line of a journal", j.file.Name(), length)
		}
		if length == 0 && e.Campaign != identity {
			return ErrOtherCampaign
		}
		if length == 0 && e.ID != "" {
			j.id = e.ID
		}
		if e.Key != "" {
			j.results[e.Key], j.keys[e.Key] = e.Result, true
		}
		length, j.spent = length+int64(len(line)), max(j.spent, e.At)
	}
	if length == 0 {
		return ErrOtherCampaign
	}
	if err := j.file.Truncate(length); err != nil {
		return err
	}
	_, err := j.file.Seek(length, io.SeekStart)
	return err
}

func (j *journal) write(e entry) error {
	if j.file == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// known returns the result of a task, if the journal has one that was not returned to a caller yet.
func (j *journal) known(key string) (json.RawMessage, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	result, ok := j.results[key]
	return result, ok
}

// add stores a result, unless the task has one: the first result of a task counts. With keep, known returns it.
func (j *journal) add(key string, result json.RawMessage, keep bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.keys[key] {
		return nil
	}
	if err := j.write(entry{At: time.Since(j.began), Key: key, Result: result}); err != nil {
		return err
	}
	if j.keys[key] = true; keep {
		j.results[key] = result
	}
	return nil
}

// close closes the journal, and removes it if the campaign is complete.
func (j *journal) close(complete bool) error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	if complete {
		if gone := os.Remove(j.file.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
