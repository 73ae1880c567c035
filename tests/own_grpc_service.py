"""A gRPC service as a user would write it: python own_grpc_service.py PLACE [FOLDER]; every fifth user is another.

PLACE: a port, or unix: and a path. FOLDER: of the certificate and the key with which it encrypts, or v1: it describes
itself by grpc.reflection.v1 instead of v1alpha.
"""

import itertools
import sys
from concurrent import futures
from pathlib import Path

import grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

protos, services = grpc.protos_and_services("own_users.proto")
numbers = itertools.count(1)


class Users(services.UsersServicer):
    def Get(self, request, context):  # noqa: N802
        if request.id == "0":
            context.abort(grpc.StatusCode.NOT_FOUND, "no such user")
        if request.id == "busy":
            context.abort(grpc.StatusCode.UNAVAILABLE, "no such time")
        is_other = request.id == "other" and next(numbers) % 5 == 0
        return protos.User(id="another" if is_other else request.id, name="Ada", visits=3)

    def Watch(self, request, context):  # noqa: N802
        is_other = request.id == "other" and next(numbers) % 5 == 0
        for visits in range(3 if is_other else 4):
            yield protos.User(id=request.id, name="Ada", visits=visits)
        if request.id == "0":
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many watch")


place, *folder = sys.argv[1:]
place = place if place.startswith("unix:") else f"127.0.0.1:{place}"
server = grpc.server(futures.ThreadPoolExecutor(3), options=(("grpc.so_reuseport", 0),))
services.add_UsersServicer_to_server(Users(), server)
own = ("users.v1.Users",)
if folder == ["v1"]:
    describe = grpc.stream_stream_rpc_method_handler(
        reflection.ReflectionServicer(own).ServerReflectionInfo,
        reflection_pb2.ServerReflectionRequest.FromString,
        reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    of_v1 = grpc.method_handlers_generic_handler(
        "grpc.reflection.v1.ServerReflection", {"ServerReflectionInfo": describe}
    )
    server.add_generic_rpc_handlers((of_v1,))
else:
    reflection.enable_server_reflection(own, server)
if folder and folder != ["v1"]:
    key, chain = (Path(folder[0], name).read_bytes() for name in ("server.key", "server.pem"))
    server.add_secure_port(place, grpc.ssl_server_credentials([(key, chain)]))
else:
    server.add_insecure_port(place)
server.start()
server.wait_for_termination()
