import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.handler.BodyHandler;

/** An HTTP server by Vert.x that returns what is posted to /echo, with an event loop for each CPU: java -jar ... PORT. */
public class Main extends VerticleBase {
  private final int port;

  private Main(int port) {
    this.port = port;
  }

  @Override
  public Future<?> start() {
    Router router = Router.router(vertx);
    router
        .post("/echo")
        .handler(BodyHandler.create(false))
        .handler(
            context ->
                context
                    .response()
                    .putHeader("Content-Type", "application/octet-stream")
                    .end(context.body().buffer()));
    return vertx.createHttpServer().requestHandler(router).listen(port, "127.0.0.1");
  }

  public static void main(String[] words) {
    int port = Integer.parseInt(words[0]);
    var instances = new DeploymentOptions().setInstances(Runtime.getRuntime().availableProcessors());
    Vertx.vertx()
        .deployVerticle(() -> new Main(port), instances)
        .onFailure(
            reason -> {
              reason.printStackTrace();
              System.exit(1);
            });
  }
}
