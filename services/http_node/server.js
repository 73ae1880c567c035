// An HTTP server by Fastify that returns what is posted to /echo: node server.js PORT.
import Fastify from "fastify";

const app = Fastify({ bodyLimit: 256 * 1024 * 1024 });

app.addContentTypeParser("*", { parseAs: "buffer" }, (request, body, done) => done(null, body));
app.post("/echo", async (request, reply) => {
  reply.type("application/octet-stream");
  return request.body;
});

await app.listen({ host: "127.0.0.1", port: Number(process.argv[2]) });
