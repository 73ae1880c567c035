"""The program of an interpreter that imports a system from a source: it checks one case there."""

import json
import sys
from dataclasses import asdict
from typing import Any

from bench import systems
from bench.errors import BenchError
from bench.measurement.validation import support
from bench.plan.case import Case


def main() -> None:
    """Read a case, check it, make what its system needs; print the case or the error."""
    case = Case.from_dict(json.load(sys.stdin))
    answer: dict[str, Any]
    try:
        answer = {"case": asdict(support.checked(case))}
        systems.prepare(case.system)
    except BenchError as error:
        answer = {"error": type(error).__name__, "text": str(error)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
