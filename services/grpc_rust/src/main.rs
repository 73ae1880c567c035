//! A gRPC server by tonic that returns the bytes of each request: grpc_rust PORT.

use tonic::{transport::Server, Request, Response, Status};

mod v1 {
    tonic::include_proto!("echo.v1");
}

use v1::echo_server::{Echo, EchoServer};
use v1::Message;

struct Echoing;

#[tonic::async_trait]
impl Echo for Echoing {
    async fn echo(&self, request: Request<Message>) -> Result<Response<Message>, Status> {
        Ok(Response::new(request.into_inner()))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).ok_or("usage: grpc_rust PORT")?;
    Server::builder()
        .add_service(EchoServer::new(Echoing))
        .serve(format!("127.0.0.1:{port}").parse()?)
        .await?;
    Ok(())
}
