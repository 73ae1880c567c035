//! An HTTP server by axum that returns what is posted to /echo: http_rust PORT.

use axum::{body::Bytes, extract::DefaultBodyLimit, routing::post, serve::ListenerExt, Router};

async fn echo(body: Bytes) -> Bytes {
    body
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::args().nth(1).ok_or("usage: http_rust PORT")?.parse()?;
    let app = Router::new()
        .route("/echo", post(echo))
        .layer(DefaultBodyLimit::disable());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port))
        .await?
        .tap_io(|connection| connection.set_nodelay(true).expect("TCP_NODELAY"));
    axum::serve(listener, app).await?;
    Ok(())
}
