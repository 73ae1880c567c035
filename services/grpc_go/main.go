// A gRPC server by grpc-go that returns the bytes of each request: server PORT.
package main

import (
	"context"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"

	"grpc_go/echo"
)

type server struct {
	echo.UnimplementedEchoServer
}

func (server) Echo(_ context.Context, request *echo.Message) (*echo.Message, error) {
	return request, nil
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	s := grpc.NewServer()
	echo.RegisterEchoServer(s, server{})
	log.Fatal(s.Serve(listener))
}
