"""Strings, patterns and hashes."""

from __future__ import annotations

from sqlglot import exp, generator

from omnigraph_sql.datafusion.dialect.expression_writer import (
    ExpressionWriter,
    named_call,
    template,
)
from omnigraph_sql.datafusion.dialect.json_sql import JSON_NAMES


def _position(self: generator.Generator, expression: exp.StrPosition) -> str:
    text, wanted = self.sql(expression, "this"), self.sql(expression, "substr")
    start = expression.args.get("position")
    if start is None:
        return f"strpos({text}, {wanted})"
    at = self.sql(start)
    found = f"strpos(substr({text}, {at}), {wanted})"
    return f"CASE WHEN {found} = 0 THEN 0 ELSE {found} + {at} - 1 END"


def _extracted(self: generator.Generator, expression: exp.RegexpExtract) -> str:
    group = expression.args.get("group") or exp.Literal.number(0)
    return self.func("regexp_extract", expression.this, expression.expression, group)


def _replaced(self: generator.Generator, expression: exp.RegexpReplace) -> str:
    flags = expression.args.get("modifiers")
    every = expression.args.get("single_replace") is not True
    given = flags or (exp.Literal.string("g") if every else None)
    replacement = expression.args.get("replacement") or exp.Literal.string("")
    parts = [expression.this, expression.expression, replacement]
    return self.func("regexp_replace", *parts, *([given] if given is not None else []))


def _sha2(self: generator.Generator, expression: exp.Expr) -> str:
    return f"encode({_sha2_bytes(self, expression)}, 'hex')"


def _sha2_bytes(self: generator.Generator, expression: exp.Expr) -> str:
    length = expression.args.get("length")
    bits = length.name if length is not None and length.name != "0" else "256"
    return self.func(f"sha{bits}", expression.this)


def _concat(self: generator.Generator, expression: exp.Concat) -> str:
    parts = [f"CAST({self.sql(part)} AS VARCHAR)" for part in expression.expressions]
    if expression.args.get("coalesce"):
        return f"concat({', '.join(parts)})"
    return f"({' || '.join(parts)})"


def _joined(self: generator.Generator, expression: exp.ConcatWs) -> str:
    separator, *parts = expression.expressions
    if len(parts) == 1:
        value = parts[0].this if isinstance(parts[0], exp.Coalesce) else parts[0]
        value = value.this if isinstance(value, exp.Filter) else value
        if isinstance(value, exp.ArrayAgg | exp.Array | exp.ArrayUniqueAgg):
            return self.func("array_to_string", value, separator)
    texts = (f"CAST({self.sql(part)} AS VARCHAR)" for part in parts)
    return f"concat_ws({', '.join([self.sql(separator), *texts])})"


def _hex(self: generator.Generator, expression: exp.Hex) -> str:
    value = self.sql(expression, "this")
    texts = isinstance(expression.this, exp.Literal) and expression.this.is_string
    return f"encode({value}, 'hex')" if texts else f"to_hex({value})"


def _similar(self: generator.Generator, expression: exp.SimilarTo) -> str:
    """A pattern of the standard: it must match the whole text, with the wildcards of LIKE."""
    pattern = self.sql(expression, "expression")
    for found, wanted in ((".", "\\."), ("%", ".*"), ("_", ".")):
        pattern = f"replace({pattern}, '{found}', '{wanted}')"
    return f"regexp_like({self.sql(expression, 'this')}, concat('^(?:', {pattern}, ')$'))"


def _hashed(self: generator.Generator, expression: exp.Anonymous) -> str:
    parts = [f"CAST({self.sql(part)} AS VARCHAR)" for part in expression.expressions]
    whole = parts[0] if len(parts) == 1 else f"concat_ws(chr(31), {', '.join(parts)})"
    return f"hash_of({whole})"


_ANONYMOUS: dict[str, ExpressionWriter] = {
    "hash": _hashed,
    "from_hex": lambda self, e: f"decode({self.sql(e.expressions[0])}, 'hex')",
    "every": lambda self, e: self.func("bool_and", *e.expressions),
    "square": lambda self, e: self.func("power", *e.expressions, exp.Literal.number(2)),
    "bool_xor": lambda self, e: self.func("bit_xor", *e.expressions),
    "char_length": lambda self, e: self.func("character_length", *e.expressions),
    "product": lambda self, e: f"CAST(exp(sum(ln({self.sql(e.expressions[0])}))) AS DOUBLE)",
    "datediff": lambda self, e: (
        f"boundaries('{e.expressions[0].name.lower()}', "
        f"CAST({self.sql(e.expressions[1])} AS TIMESTAMP(6)), "
        f"CAST({self.sql(e.expressions[2])} AS TIMESTAMP(6)))"
    ),
}
"""Functions that sqlglot has no node for, by name."""


_UNSIGNED = ("array_ndims", "array_position", "cardinality")
"""What DataFusion counts without a sign, which other databases do not have."""


def _anonymous(self: generator.Generator, expression: exp.Anonymous) -> str:
    name = str(expression.this).lower()
    known = _ANONYMOUS.get(name) or JSON_NAMES.get(name)
    if known is not None:
        return known(self, expression)
    written = self.func(name, *expression.expressions)
    return f"CAST({written} AS BIGINT)" if name in _UNSIGNED else written


TEXTS: dict[type[exp.Expr], ExpressionWriter] = {
    exp.Anonymous: _anonymous,
    exp.Base64DecodeString: template("arrow_cast(decode({this}, 'base64'), 'Utf8')"),
    exp.Base64Encode: template("encode({this}, 'base64')"),
    exp.Concat: _concat,
    exp.ConcatWs: _joined,
    exp.FromBase64: template("decode({this}, 'base64')"),
    exp.Hex: _hex,
    exp.IsNan: named_call("isnan", "this"),
    exp.LowerHex: named_call("to_hex", "this"),
    exp.Left: named_call("left", "this", "expression"),
    exp.MD5Digest: template("decode(md5({this}), 'hex')"),
    exp.RegexpExtract: _extracted,
    exp.RegexpILike: template("regexp_like({this}, {expression}, 'i')"),
    exp.RegexpLike: named_call("regexp_like", "this", "expression", "flag"),
    exp.RegexpReplace: _replaced,
    exp.RegexpSplit: named_call("string_to_array", "this", "expression"),
    exp.SHA2: _sha2,
    exp.SHA2Digest: _sha2_bytes,
    exp.Sign: named_call("signum", "this"),
    exp.SimilarTo: _similar,
    exp.Split: named_call("string_to_array", "this", "expression"),
    exp.StrPosition: _position,
    exp.Stuff: template("overlay({this} PLACING {expression} FROM {start} FOR {length})"),
    exp.ToBase64: template("encode({this}, 'base64')"),
    exp.ToBoolean: template("CAST({this} AS BOOLEAN)"),
    exp.ToDouble: template("CAST({this} AS DOUBLE)"),
    exp.ToNumber: template("CAST({this} AS DOUBLE)"),
    exp.Unhex: template("decode({this}, 'hex')"),
}
