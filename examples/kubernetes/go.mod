module lockbench/examples/kubernetes

go 1.26.0
