"""What locust runs for locust.yaml: each user asks for the URL again and again, at its rate if one is given."""
# mypy: ignore-errors
# locust is installed by its users, in an environment of its own.

from typing import Any

from locust import FastHttpUser, constant_throughput, events, task


@events.init_command_line_parser.add_listener
def add_rate(parser: Any) -> None:
    """Let the command line give the rate of one user."""
    parser.add_argument("--rate-per-user", type=float, default=0.0, help="requests per second; 0: without a pause")


class User(FastHttpUser):
    """One user, which waits for its reply before it asks again."""

    def wait_time(self) -> float:
        """Return the pause in s before the next request."""
        rate = self.environment.parsed_options.rate_per_user
        return constant_throughput(rate)(self) if rate else 0.0

    @task
    def ask(self) -> None:
        """Ask once."""
        self.client.get("", name="/")
