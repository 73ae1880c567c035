// A gRPC server by grpc-js that returns the bytes of each request: node server.js PORT.
import grpc from "@grpc/grpc-js";
import protoLoader from "@grpc/proto-loader";

const types = protoLoader.loadSync("../echo.proto");
const { Echo } = grpc.loadPackageDefinition(types).echo.v1;

const server = new grpc.Server();
server.addService(Echo.service, {
  Echo: (call, done) => done(null, call.request),
});
server.bindAsync(`127.0.0.1:${process.argv[2]}`, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
