"""What the tests stand on: real S3-compatible servers and a proxy that counts and breaks requests.

Servers, proxy and fixtures know nothing of the engine; graphs, social, ledger and workers do.
"""
