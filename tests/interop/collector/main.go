// The OpenTelemetry collector's own OTLP receiver, by HTTP alone: prints a line of JSON for each export that it decodes.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.uber.org/zap"
)

var printing sync.Mutex

func say(line []byte, err error) error {
	if err != nil {
		return err
	}
	printing.Lock()
	defer printing.Unlock()
	_, err = fmt.Println(string(line))
	return err
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	said := confmap.NewFromStringMap(map[string]any{
		"protocols": map[string]any{"http": map[string]any{"endpoint": os.Args[1]}}})
	if err := said.Unmarshal(config); err != nil {
		log.Fatal(err)
	}
	settings := receiver.Settings{ID: component.NewID(factory.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings()}
	settings.Logger = zap.NewNop()

	traces := must(consumer.NewTraces(func(_ context.Context, what ptrace.Traces) error {
		return say((&ptrace.JSONMarshaler{}).MarshalTraces(what))
	}))
	metrics := must(consumer.NewMetrics(func(_ context.Context, what pmetric.Metrics) error {
		return say((&pmetric.JSONMarshaler{}).MarshalMetrics(what))
	}))
	for _, one := range []component.Component{
		must(factory.CreateTraces(ctx, settings, config, traces)),
		must(factory.CreateMetrics(ctx, settings, config, metrics)),
	} {
		if err := one.Start(ctx, componenttest.NewNopHost()); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("listening")
	<-ctx.Done()
}
