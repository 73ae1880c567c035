//! Makes the types and the service of ../echo.proto.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tonic_prost_build::configure()
        .build_client(false)
        .compile_protos(&["../echo.proto"], &[".."])?;
    Ok(())
}
