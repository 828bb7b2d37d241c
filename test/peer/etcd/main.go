// Command etcd runs etcd's server with the few flags that the real stack and the
// conformance tests need.
// (etcd's own main package brings a proxy whose modules nothing else here uses.)
package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	dir := flag.String("data-dir", "default.etcd", "folder of the database")
	client := flag.String("listen-client-urls", "http://127.0.0.1:2379", "address for clients")
	_ = flag.String("advertise-client-urls", "", "ignored: it is where clients connect to")
	peer := flag.String("listen-peer-urls", "http://127.0.0.1:2380", "address for other members")
	unsafe := flag.Bool("unsafe-no-fsync", false, "do not wait for the disk")
	flag.Parse()
	if err := serve(*dir, *client, *peer, *unsafe); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
}

func serve(dir, client, peer string, unsafe bool) error {
	clientURL, err := url.Parse(client)
	if err != nil {
		return err
	}
	peerURL, err := url.Parse(peer)
	if err != nil {
		return err
	}
	config := embed.NewConfig()
	config.Dir, config.UnsafeNoFsync = dir, unsafe
	config.LogLevel = "warn"
	config.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*clientURL}, []url.URL{*clientURL}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peerURL}, []url.URL{*peerURL}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	return <-server.Err()
}
