"""Where `Server` is documented to be; its home is `omnigraph_flight.server`."""

from omnigraph_flight.server import Server

__all__ = ["Server"]
