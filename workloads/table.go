package workloads

import "context"

// Workload is one thing that clients do over and over.
type Workload struct {
	Name      string
	Doc       string // one sentence
	Reentrant bool   // only for locks that grant again to the owner that holds
	Guarded   bool   // reads and writes what the lock guards
	Special   bool   // takes the lock beyond what every use of it expects: expectations name it
	Iterate   func(context.Context, *Client)
}

// All is every workload.
func All() []Workload {
	return []Workload{counter(), contend(), try(), reentrant()}
}
