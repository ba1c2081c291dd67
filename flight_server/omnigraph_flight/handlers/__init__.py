"""One module per RPC of Flight, named after it, and what they share (`service`).

The top of the server below its start: imports `sessions`, `access` and `protocol`.
"""
