// Command bifrost-core serves POST /v1/chat/completions over Bifrost's core library and nothing
// else: no keys, no budgets, no log. It is what remains of its HTTP program without everything that
// the program adds, so its cost is a lower bound.
package main

import (
	"bufio"
	"context"
	"flag"
	"log"
	"net"
	"strings"

	"github.com/bytedance/sonic"
	bifrost "github.com/maximhq/bifrost/core"
	"github.com/maximhq/bifrost/core/providers/openai"
	"github.com/maximhq/bifrost/core/schemas"
	"github.com/valyala/fasthttp"
)

const (
	bodyBytesMax   = 20 << 20
	providerKey    = "bench"
	streamDoneLine = "data: [DONE]\n\n"
)

// account has one key for each of two providers, both at the same address.
type account struct{ baseURL string }

func (account) GetConfiguredProviders() ([]schemas.ModelProvider, error) {
	return []schemas.ModelProvider{schemas.OpenAI, schemas.Anthropic}, nil
}

func (account) GetKeysForProvider(*context.Context, schemas.ModelProvider) ([]schemas.Key, error) {
	return []schemas.Key{{ID: providerKey, Name: providerKey, Value: providerKey, Weight: 1}}, nil
}

func (a account) GetConfigForProvider(schemas.ModelProvider) (*schemas.ProviderConfig, error) {
	return &schemas.ProviderConfig{
		NetworkConfig: schemas.NetworkConfig{
			BaseURL:                        a.baseURL,
			DefaultRequestTimeoutInSeconds: 600,
		},
		ConcurrencyAndBufferSize: schemas.ConcurrencyAndBufferSize{Concurrency: 1000, BufferSize: 5000},
	}, nil
}

type relay struct{ client *bifrost.Bifrost }

func (r relay) serve(call *fasthttp.RequestCtx) {
	if string(call.Path()) != "/v1/chat/completions" {
		call.Error("not found", fasthttp.StatusNotFound)
		return
	}
	var request openai.OpenAIChatRequest
	// The library keeps parts of what it is given; the server uses its buffer again.
	if err := sonic.UnmarshalString(string(call.PostBody()), &request); err != nil {
		call.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	chat := request.ToBifrostChatRequest()
	if request.Stream != nil && *request.Stream {
		r.serveStream(call, chat)
		return
	}
	answer, failure := r.client.ChatCompletionRequest(context.Background(), chat)
	if failure != nil {
		fail(call, failure)
		return
	}
	body, err := sonic.Marshal(answer)
	if err != nil {
		call.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	call.SetContentType("application/json")
	call.SetBody(body)
}

func (r relay) serveStream(call *fasthttp.RequestCtx, chat *schemas.BifrostChatRequest) {
	ctx, cancel := context.WithCancel(context.Background())
	chunks, failure := r.client.ChatCompletionStreamRequest(ctx, chat)
	if failure != nil {
		cancel()
		fail(call, failure)
		return
	}
	call.SetContentType("text/event-stream")
	call.SetBodyStreamWriter(func(out *bufio.Writer) {
		defer cancel()
		isOpen := true
		// Read to the end even when the client has gone: the library waits until a chunk is taken.
		for chunk := range chunks {
			if isOpen && writeChunk(out, chunk) != nil {
				isOpen = false
				cancel()
			}
		}
		if isOpen {
			_, _ = out.WriteString(streamDoneLine)
			_ = out.Flush()
		}
	})
}

func writeChunk(out *bufio.Writer, chunk *schemas.BifrostStream) error {
	body, err := sonic.Marshal(chunk)
	if err != nil {
		return err
	}
	_, _ = out.WriteString("data: ")
	_, _ = out.Write(body)
	_, _ = out.WriteString("\n\n")
	return out.Flush()
}

func fail(call *fasthttp.RequestCtx, failure *schemas.BifrostError) {
	status := fasthttp.StatusInternalServerError
	if failure.StatusCode != nil {
		status = *failure.StatusCode
	}
	body, _ := sonic.Marshal(failure)
	call.SetStatusCode(status)
	call.SetContentType("application/json")
	call.SetBody(body)
}

func main() {
	listen := flag.String("listen", "", "address to listen on")
	provider := flag.String("provider", "", "base URL of both providers")
	flag.Parse()
	client, err := bifrost.Init(context.Background(), schemas.BifrostConfig{
		Account:         account{strings.TrimRight(*provider, "/")},
		InitialPoolSize: 1000,
		Logger:          bifrost.NewDefaultLogger(schemas.LogLevelError),
	})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp4", *listen)
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{Handler: relay{client}.serve, MaxRequestBodySize: bodyBytesMax}
	log.Fatal(server.Serve(listener))
}
