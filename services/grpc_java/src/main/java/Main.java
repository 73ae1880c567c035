import echo.v1.EchoGrpc;
import echo.v1.Message;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;

/** A gRPC server by grpc-java that returns the bytes of each request: java -jar ... PORT. */
public class Main extends EchoGrpc.EchoImplBase {
  @Override
  public void echo(Message request, StreamObserver<Message> reply) {
    reply.onNext(request);
    reply.onCompleted();
  }

  public static void main(String[] words) throws IOException, InterruptedException {
    var address = new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0]));
    NettyServerBuilder.forAddress(address).addService(new Main()).build().start().awaitTermination();
  }
}
