package etcd

import clientv3 "go.etcd.io/etcd/client/v3"

// Config reads a URL as Open does, for programs that add something to the client's configuration before they Dial.
func Config(rawURL string) (clientv3.Config, Options, error) { return parse(rawURL) }
