package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// etcd runs an etcd server until its context ends. The server syncs every write to disk before it replies. The arguments
// are: name, folder, client URL, peer URL, all members (name=url,...), and the length of a tick in milliseconds.
func etcd(ctx context.Context, args []string, says io.Writer) error {
	config, err := etcdConfig(args)
	if err != nil {
		return err
	}
	// Log only errors. Warnings are expected, for example about slow disks or members that were killed on purpose.
	log := zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(says), zapcore.ErrorLevel))
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log)
	e, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer e.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-e.Err():
		return fmt.Errorf("etcd: %w", err)
	case <-e.Server.StopNotify():
		return errors.New("etcd stopped unexpectedly")
	}
}

const electionTicks = 10

func etcdConfig(args []string) (*embed.Config, error) {
	if len(args) != 6 {
		return nil, errors.New("start etcd: want six arguments: name, folder, client URL, peer URL, members, tick")
	}
	client, clientErr := url.Parse(args[2])
	peer, peerErr := url.Parse(args[3])
	tick, tickErr := strconv.ParseUint(args[5], 10, 16)
	if err := errors.Join(clientErr, peerErr, tickErr); err != nil {
		return nil, err
	}
	c := embed.NewConfig()
	c.Name, c.Dir, c.InitialCluster = args[0], args[1], args[4]
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	c.TickMs, c.ElectionMs = uint(tick), uint(tick*electionTicks)
	c.EnableGRPCGateway = false
	return c, nil
}
