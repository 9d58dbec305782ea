module lockbench/impls/worker/go

go 1.21
