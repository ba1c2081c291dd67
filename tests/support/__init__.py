"""What the tests stand on: real S3-compatible servers and a proxy that counts and breaks requests.

Nothing here knows the engine. It may import the standard library, boto3, pytest and pyarrow.
"""
