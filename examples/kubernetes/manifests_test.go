package kubernetes

import (
	"bytes"
	"os"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestManifests decodes the manifests with the types of Kubernetes' API. Unknown and misspelt fields are errors.
func TestManifests(t *testing.T) {
	text, err := os.ReadFile("lockbench.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var jobs []batchv1.Job
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var about metav1.TypeMeta
		if err := yaml.Unmarshal(document, &about); err != nil {
			t.Fatal(err)
		}
		switch about.APIVersion + " " + about.Kind {
		case "v1 Service":
			strict(t, document, &corev1.Service{})
		case "v1 PersistentVolumeClaim":
			strict(t, document, &corev1.PersistentVolumeClaim{})
		case "batch/v1 Job":
			var job batchv1.Job
			strict(t, document, &job)
			jobs = append(jobs, job)
		default:
			t.Errorf("an object of the kind %s", about.Kind)
		}
	}
	if len(jobs) != 2 {
		t.Fatalf("%d jobs, want a coordinator and agents", len(jobs))
	}
	for _, job := range jobs {
		pod := job.Spec.Template.Spec
		for _, c := range pod.Containers {
			for _, m := range c.VolumeMounts {
				if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
					t.Errorf("%s mounts a volume %s, which does not exist", job.Name, m.Name)
				}
			}
		}
	}
}

func strict(t *testing.T, document []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(document, into); err != nil {
		t.Error(err)
	}
}
