"""One bare Flight client: asks for a set time, then says as JSON how long each answer took.

`python -m benchmarks.flight_client` reads `{"uri", "texts", "seconds"}` from stdin. It says "ready"
when it has warmed up, and begins when another line comes. It imports next to nothing, so that many
can be started.
"""

from __future__ import annotations

import json
import sys
import time

import pyarrow as pa
import pyarrow.flight as fl

from omnigraph_flight.protocol.flight_sql_messages import wrapped


def query(client: fl.FlightClient, sql: str) -> pa.Table:
    """A query as the protocol has it: where the result is, then the result."""
    descriptor = fl.FlightDescriptor.for_command(wrapped("CommandStatementQuery", query=sql))
    info = client.get_flight_info(descriptor)
    return pa.concat_tables(
        client.do_get(endpoint.ticket).read_all() for endpoint in info.endpoints
    )


def main() -> None:
    asked = json.loads(sys.stdin.readline())
    texts: list[str] = asked["texts"]
    with fl.connect(asked["uri"]) as client:
        query(client, texts[0])
        print("ready", flush=True)
        sys.stdin.readline()
        times: list[float] = []
        size, until = 0, time.perf_counter() + asked["seconds"]
        while not times or time.perf_counter() < until:
            began = time.perf_counter()
            size += query(client, texts[len(times) % len(texts)]).nbytes
            times.append(time.perf_counter() - began)
    print(json.dumps({"times": times, "bytes": size}))


if __name__ == "__main__":
    main()
