"""A gRPC service as a user would write it: python own_grpc_service.py PORT; every hundredth user is another one."""

import itertools
import sys
from concurrent import futures

import grpc

protos, services = grpc.protos_and_services("own_users.proto")
numbers = itertools.count(1)


class Users(services.UsersServicer):
    def Get(self, request, context):  # noqa: N802
        if request.id == "0":
            context.abort(grpc.StatusCode.NOT_FOUND, "no such user")
        is_other = request.id == "other" and next(numbers) % 5 == 0
        return protos.User(id="another" if is_other else request.id, name="Ada", visits=3)


server = grpc.server(futures.ThreadPoolExecutor(2), options=(("grpc.so_reuseport", 0),))
services.add_UsersServicer_to_server(Users(), server)
server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
server.start()
server.wait_for_termination()
