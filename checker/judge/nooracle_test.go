package judge

import (
	"path/filepath"
	"reflect"
	"testing"
)

// TestNoOracle checks that skipping the check by Porcupine changes no other result.
func TestNoOracle(t *testing.T) {
	files, err := filepath.Glob("../../histories/corpus/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		with, _, err := File(file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		without, _, err := File(file, Options{NoOracle: true})
		if err != nil {
			t.Fatal(err)
		}
		if without.Oracle.Keys != 0 || without.Oracle.Pairs != 0 {
			t.Errorf("%s: the oracle was left out and says %+v", file, without.Oracle)
		}
		with.Oracle = without.Oracle
		if !reflect.DeepEqual(with, without) {
			t.Errorf("%s: %+v with the oracle, %+v without", file, with, without)
		}
	}
}
