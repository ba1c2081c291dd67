"""The Flight SQL messages, as tables of fields.

Generated modules register their messages in one pool per process, where those of another Flight
SQL package collide with ours; these live in a pool of their own.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.message import Message

SQL = "arrow.flight.protocol.sql"
FLIGHT = "arrow.flight.protocol"

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
    "double": _Field.TYPE_DOUBLE,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "sfixed64": _Field.TYPE_SFIXED64,
    "string": _Field.TYPE_STRING,
    "uint32": _Field.TYPE_UINT32,
}

# A field is "name = number: type"; `?` marks optional, `*` repeated, `|` a choice of the message's
# one oneof, and `<Type>` a map from text to Type. An enum travels as an int32.
_SQL_MESSAGES: dict[str, str] = {
    "CommandGetSqlInfo": "info=1: *uint32",
    "CommandGetXdbcTypeInfo": "data_type=1: ?int32",
    "CommandGetCatalogs": "",
    "CommandGetDbSchemas": "catalog=1: ?string, db_schema_filter_pattern=2: ?string",
    "CommandGetTables": (
        "catalog=1: ?string, db_schema_filter_pattern=2: ?string, "
        "table_name_filter_pattern=3: ?string, table_types=4: *string, include_schema=5: bool"
    ),
    "CommandGetTableTypes": "",
    "CommandGetPrimaryKeys": "catalog=1: ?string, db_schema=2: ?string, table=3: string",
    "CommandGetExportedKeys": "catalog=1: ?string, db_schema=2: ?string, table=3: string",
    "CommandGetImportedKeys": "catalog=1: ?string, db_schema=2: ?string, table=3: string",
    "CommandGetCrossReference": (
        "pk_catalog=1: ?string, pk_db_schema=2: ?string, pk_table=3: string, "
        "fk_catalog=4: ?string, fk_db_schema=5: ?string, fk_table=6: string"
    ),
    "ActionCreatePreparedStatementRequest": "query=1: string, transaction_id=2: ?bytes",
    "SubstraitPlan": "plan=1: bytes, version=2: string",
    "ActionCreatePreparedSubstraitPlanRequest": "plan=1: SubstraitPlan, transaction_id=2: ?bytes",
    "ActionCreatePreparedStatementResult": (
        "prepared_statement_handle=1: bytes, dataset_schema=2: bytes, "
        "parameter_schema=3: bytes, is_update=4: ?bool"
    ),
    "ActionClosePreparedStatementRequest": "prepared_statement_handle=1: bytes",
    "ActionBeginTransactionRequest": "",
    "ActionBeginTransactionResult": "transaction_id=1: bytes",
    "ActionBeginSavepointRequest": "transaction_id=1: bytes, name=2: string",
    "ActionBeginSavepointResult": "savepoint_id=1: bytes",
    "ActionEndTransactionRequest": "transaction_id=1: bytes, action=2: int32",
    "ActionEndSavepointRequest": "savepoint_id=1: bytes, action=2: int32",
    "CommandStatementQuery": "query=1: string, transaction_id=2: ?bytes",
    "CommandStatementSubstraitPlan": "plan=1: SubstraitPlan, transaction_id=2: ?bytes",
    "TicketStatementQuery": "statement_handle=1: bytes",
    "CommandPreparedStatementQuery": "prepared_statement_handle=1: bytes",
    "CommandStatementUpdate": "query=1: string, transaction_id=2: ?bytes",
    "CommandPreparedStatementUpdate": "prepared_statement_handle=1: bytes",
    "TableDefinitionOptions": "if_not_exist=1: int32, if_exists=2: int32",
    "CommandStatementIngest": (
        "table_definition_options=1: TableDefinitionOptions, table=2: string, "
        "schema=3: ?string, catalog=4: ?string, temporary=5: bool, transaction_id=6: ?bytes, "
        "options=1000: <string>"
    ),
    "DoPutUpdateResult": "record_count=1: int64",
    "DoPutPreparedStatementResult": "prepared_statement_handle=1: ?bytes",
    "ActionCancelQueryRequest": "info=1: bytes",
    "ActionCancelQueryResult": "result=1: int32",
}

_FLIGHT_MESSAGES: dict[str, str] = {
    "StringListValue": "values=1: *string",
    "SessionOptionValue": (
        "string_value=1: |string, bool_value=2: |bool, int64_value=3: |sfixed64, "
        "double_value=4: |double, string_list_value=5: |StringListValue"
    ),
    "SetSessionOptionsRequest": "session_options=1: <SessionOptionValue>",
    "SessionOptionError": "value=1: int32",
    "SetSessionOptionsResult": "errors=1: <SessionOptionError>",
    "GetSessionOptionsRequest": "",
    "GetSessionOptionsResult": "session_options=1: <SessionOptionValue>",
    "CloseSessionRequest": "",
    "CloseSessionResult": "status=1: int32",
    "FlightDescriptor": "type=1: int32, cmd=2: bytes, path=3: *string",
    "Ticket": "ticket=1: bytes",
    "Location": "uri=1: string",
    "FlightEndpoint": (
        "ticket=1: Ticket, location=2: *Location, "
        "expiration_time=3: .google.protobuf.Timestamp, app_metadata=4: bytes"
    ),
    "FlightInfo": (
        "schema=1: bytes, flight_descriptor=2: FlightDescriptor, endpoint=3: *FlightEndpoint, "
        "total_records=4: int64, total_bytes=5: int64, ordered=6: bool, app_metadata=7: bytes"
    ),
    "CancelFlightInfoRequest": "info=1: FlightInfo",
    "CancelFlightInfoResult": "status=1: int32",
    "RenewFlightEndpointRequest": "endpoint=1: FlightEndpoint",
    "BasicAuth": "username=2: string, password=3: string",
}


def _describe(package: str, tables: dict[str, str]) -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name=f"omnigraph/{package}.proto",
        package=package,
        syntax="proto3",
        dependency=[timestamp_pb2.DESCRIPTOR.name],
    )
    for name, fields in tables.items():
        message = file.message_type.add(name=name)
        for declared in filter(None, (each.strip() for each in fields.split(","))):
            _add_field(message, package, declared)
        # A proto3 `optional` is a oneof of its own, which must come after the real ones.
        for field in message.field:
            if field.proto3_optional:
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")
    return file


def _add_field(message: descriptor_pb2.DescriptorProto, package: str, declared: str) -> None:
    left, type_ = (part.strip() for part in declared.split(":"))
    name, number = left.split("=")
    field = message.field.add(name=name, number=int(number), label=_Field.LABEL_OPTIONAL)
    if type_.startswith("<"):
        entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _add_field(entry, package, "key=1: string")
        _add_field(entry, package, f"value=2: {type_[1:-1]}")
        type_ = f"*.{package}.{message.name}.{entry.name}"
    if type_.startswith("*"):
        field.label = _Field.LABEL_REPEATED
    elif type_.startswith("?"):
        field.proto3_optional = True
    elif type_.startswith("|"):
        if not message.oneof_decl:
            message.oneof_decl.add(name="option_value")
        field.oneof_index = 0
    type_ = type_.lstrip("*?|")
    if type_ in _SCALARS:
        field.type = _SCALARS[type_]
    else:
        field.type = _Field.TYPE_MESSAGE
        field.type_name = type_ if type_.startswith(".") else f".{package}.{type_}"


def _classes() -> dict[str, type[Message]]:
    pool = descriptor_pool.DescriptorPool()
    for known in (any_pb2.DESCRIPTOR, timestamp_pb2.DESCRIPTOR):
        pool.AddSerializedFile(known.serialized_pb)
    classes: dict[str, type[Message]] = {}
    for package, tables in ((FLIGHT, _FLIGHT_MESSAGES), (SQL, _SQL_MESSAGES)):
        pool.AddSerializedFile(_describe(package, tables).SerializeToString())
        for name in tables:
            descriptor = pool.FindMessageTypeByName(f"{package}.{name}")
            classes[name] = message_factory.GetMessageClass(descriptor)
    return classes


_CLASSES = _classes()
SQL_NAMES = frozenset(_SQL_MESSAGES)
_TYPE_PREFIX = f"type.googleapis.com/{SQL}."


def message(name: str, /, **fields: Any) -> Any:  # noqa: ANN401
    """A message by its short name."""
    return _CLASSES[name](**fields)


def encoded(name: str, /, **fields: Any) -> bytes:  # noqa: ANN401
    """The bytes of a message."""
    return bytes(_CLASSES[name](**fields).SerializeToString())


def wrapped(name: str, /, **fields: Any) -> bytes:  # noqa: ANN401
    """The bytes of a Flight SQL message in the `Any` in which commands and tickets travel."""
    envelope = any_pb2.Any(type_url=_TYPE_PREFIX + name, value=encoded(name, **fields))
    return bytes(envelope.SerializeToString())
