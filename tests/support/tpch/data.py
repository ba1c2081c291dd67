"""The eight tables at a scale factor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

MONEY = pa.decimal128(15, 2)
Ints = npt.NDArray[np.int64]

_NATIONS = [
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0),
    ("FRANCE", 3), ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4),
    ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0), ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1),
    ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3),
    ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
]  # fmt: skip
_REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
_COLOURS = ["almond", "azure", "blue", "chocolate", "forest", "green", "ivory", "lemon", "red"]
_TYPES = [
    f"{a} {b} {c}"
    for a in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    for b in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
    for c in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
]
_CONTAINERS = [
    f"{a} {b}"
    for a in ("SM", "LG", "MED", "JUMBO", "WRAP")
    for b in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
]
_SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"]
_PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
_MODES = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]
_INSTRUCTIONS = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]
_COMMENTS = [
    "carefully final deposits", "special packages requests sleep", "quick ideas nag",
    "Customer slow Complaints", "furiously even accounts", "special requests wake",
]  # fmt: skip
_EPOCH = np.datetime64("1992-01-01")
_DAYS = 2405
_TODAY = np.datetime64("1995-06-17")


def tables(scale: float, seed: int = 7) -> dict[str, pa.Table]:
    """All tables; scale 1 has about six million line items."""
    random = np.random.default_rng(seed)
    suppliers, parts = int(10_000 * scale) + 10, int(200_000 * scale) + 20
    customers, orders = int(150_000 * scale) + 15, int(1_500_000 * scale) + 50
    made = {
        "region": pa.table(
            {
                "r_regionkey": pa.array(range(5), pa.int32()),
                "r_name": _REGIONS,
                "r_comment": _pick(random, _COMMENTS, 5),
            }
        ),
        "nation": pa.table(
            {
                "n_nationkey": pa.array(range(25), pa.int32()),
                "n_name": [name for name, _ in _NATIONS],
                "n_regionkey": pa.array([region for _, region in _NATIONS], pa.int32()),
                "n_comment": _pick(random, _COMMENTS, 25),
            }
        ),
        "supplier": _supplier(random, suppliers),
        "part": _part(random, parts),
        "partsupp": _partsupp(random, parts, suppliers),
        "customer": _customer(random, customers),
    }
    return made | _orders(random, orders, customers, parts, suppliers)


def _pick(random: np.random.Generator, values: Sequence[str], count: int) -> pa.Array:
    return pa.array(values).take(pa.array(random.integers(0, len(values), count)))


def _keys(count: int) -> pa.Array:
    return pa.array(np.arange(1, count + 1), pa.int64())


def _named(prefix: str, count: int) -> pa.Array:
    digits = pc.utf8_lpad(pc.cast(_keys(count), pa.string()), 9, "0")
    return pc.binary_join_element_wise(pa.scalar(prefix), digits, "")


def _money(cents: Ints) -> pa.Array:
    """Cents as a decimal with two places: the same integers in another type."""
    wide = np.zeros((len(cents), 2), np.int64)
    wide[:, 0] = cents
    wide[:, 1] = np.where(cents < 0, -1, 0)
    return pa.Array.from_buffers(MONEY, len(cents), [None, pa.py_buffer(wide.tobytes())])


def _phone(random: np.random.Generator, nations: Ints) -> pa.Array:
    parts = [pa.array(nations + 10).cast(pa.string())]
    for low, high in ((100, 1000), (100, 1000), (1000, 10000)):
        parts.append(pa.array(random.integers(low, high, len(nations))).cast(pa.string()))
    return pc.binary_join_element_wise(*parts, "-")


def _supplier(random: np.random.Generator, count: int) -> pa.Table:
    nations = random.integers(0, 25, count)
    return pa.table(
        {
            "s_suppkey": _keys(count),
            "s_name": _named("Supplier#", count),
            "s_address": _named("Street ", count),
            "s_nationkey": pa.array(nations, pa.int32()),
            "s_phone": _phone(random, nations),
            "s_acctbal": _money(random.integers(-99_999, 999_999, count)),
            "s_comment": _pick(random, _COMMENTS, count),
        }
    )


def _part(random: np.random.Generator, count: int) -> pa.Table:
    makers = random.integers(1, 6, count)
    brands = makers * 10 + random.integers(1, 6, count)
    return pa.table(
        {
            "p_partkey": _keys(count),
            "p_name": pc.binary_join_element_wise(
                _pick(random, _COLOURS, count), _pick(random, _COLOURS, count), " "
            ),
            "p_mfgr": pc.binary_join_element_wise(
                pa.scalar("Manufacturer#"), pa.array(makers).cast(pa.string()), ""
            ),
            "p_brand": pc.binary_join_element_wise(
                pa.scalar("Brand#"), pa.array(brands).cast(pa.string()), ""
            ),
            "p_type": _pick(random, _TYPES, count),
            "p_size": pa.array(random.integers(1, 51, count), pa.int32()),
            "p_container": _pick(random, _CONTAINERS, count),
            "p_retailprice": _money(_prices(np.arange(1, count + 1))),
            "p_comment": _pick(random, _COMMENTS, count),
        }
    )


def _prices(parts: Ints) -> Ints:
    return 90_000 + (parts // 10) % 20_001 + 100 * (parts % 1_000)


def _partsupp(random: np.random.Generator, parts: int, suppliers: int) -> pa.Table:
    part = np.repeat(np.arange(1, parts + 1), 4)
    place = np.tile(np.arange(4), parts)
    return pa.table(
        {
            "ps_partkey": pa.array(part, pa.int64()),
            "ps_suppkey": pa.array(_supplier_of(part, place, suppliers), pa.int64()),
            "ps_availqty": pa.array(random.integers(1, 10_000, len(part)), pa.int32()),
            "ps_supplycost": _money(random.integers(100, 100_001, len(part))),
            "ps_comment": _pick(random, _COMMENTS, len(part)),
        }
    )


def _supplier_of(part: Ints, place: Ints, suppliers: int) -> Ints:
    """The suppliers of a part: four different ones."""
    return (part + place * (suppliers // 4 + 1)) % suppliers + 1


def _customer(random: np.random.Generator, count: int) -> pa.Table:
    nations = random.integers(0, 25, count)
    return pa.table(
        {
            "c_custkey": _keys(count),
            "c_name": _named("Customer#", count),
            "c_address": _named("Road ", count),
            "c_nationkey": pa.array(nations, pa.int32()),
            "c_phone": _phone(random, nations),
            "c_acctbal": _money(random.integers(-99_999, 999_999, count)),
            "c_mktsegment": _pick(random, _SEGMENTS, count),
            "c_comment": _pick(random, _COMMENTS, count),
        }
    )


def _orders(
    random: np.random.Generator, orders: int, customers: int, parts: int, suppliers: int
) -> dict[str, pa.Table]:
    keys = np.arange(1, orders + 1) * 4
    # A third of the customers order nothing, which some questions ask about.
    buyers = random.integers(0, customers, orders) // 3 * 3 + random.integers(1, 3, orders)
    days = random.integers(0, _DAYS - 151, orders)
    lines = random.integers(1, 8, orders)
    order = np.repeat(np.arange(orders), lines)
    count = len(order)
    number = np.arange(count) - np.repeat(np.cumsum(lines) - lines, lines) + 1
    part = random.integers(1, parts + 1, count)
    quantity = random.integers(1, 51, count)
    price = quantity * _prices(part)
    discount, tax = random.integers(0, 11, count), random.integers(0, 9, count)
    ship = days[order] + random.integers(1, 122, count)
    commit = days[order] + random.integers(30, 91, count)
    receipt = ship + random.integers(1, 31, count)
    today = (_TODAY - _EPOCH).astype(int)
    returned = np.where(receipt <= today, random.integers(0, 2, count), 2)
    shipped = ship <= today
    total = np.bincount(order, price * (100 - discount) * (100 + tax) / 10_000, orders)
    open_lines = np.bincount(order, ~shipped, orders)
    status = np.where(open_lines == 0, 0, np.where(open_lines == lines, 1, 2))
    orders_table = pa.table(
        {
            "o_orderkey": pa.array(keys, pa.int64()),
            "o_custkey": pa.array(np.minimum(buyers, customers), pa.int64()),
            "o_orderstatus": pa.array(["F", "O", "P"]).take(pa.array(status)),
            "o_totalprice": _money(total.astype(np.int64)),
            "o_orderdate": _dates(days),
            "o_orderpriority": _pick(random, _PRIORITIES, orders),
            "o_clerk": _named("Clerk#", orders),
            "o_shippriority": pa.array(np.zeros(orders, np.int32)),
            "o_comment": _pick(random, _COMMENTS, orders),
        }
    )
    lineitem = pa.table(
        {
            "l_orderkey": pa.array(keys[order], pa.int64()),
            "l_partkey": pa.array(part, pa.int64()),
            "l_suppkey": pa.array(
                _supplier_of(part, random.integers(0, 4, count), suppliers), pa.int64()
            ),
            "l_linenumber": pa.array(number, pa.int32()),
            "l_quantity": _money(quantity * 100),
            "l_extendedprice": _money(price),
            "l_discount": _money(discount),
            "l_tax": _money(tax),
            "l_returnflag": pa.array(["R", "A", "N"]).take(pa.array(returned)),
            "l_linestatus": pa.array(["F", "O"]).take(pa.array(np.where(shipped, 0, 1))),
            "l_shipdate": _dates(ship),
            "l_commitdate": _dates(commit),
            "l_receiptdate": _dates(receipt),
            "l_shipinstruct": _pick(random, _INSTRUCTIONS, count),
            "l_shipmode": _pick(random, _MODES, count),
            "l_comment": _pick(random, _COMMENTS, count),
        }
    )
    return {"orders": orders_table, "lineitem": lineitem}


def _dates(days: Ints) -> pa.Array:
    return pa.array(_EPOCH + days)
