module github.com/drawbridge-go/drawbridge/cluster/etcd

go 1.26.0

require (
	github.com/drawbridge-go/drawbridge v0.1.0
	go.etcd.io/etcd/api/v3 v3.7.3
	go.etcd.io/etcd/client/v3 v3.7.3
)
