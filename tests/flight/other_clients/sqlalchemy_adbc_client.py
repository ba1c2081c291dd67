"""SQLAlchemy 2 through sqlalchemy-adbc; says as JSON what worked."""

import sys

from sqlalchemy import (
    Column,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.orm import Session, declarative_base
from worked import tell

URL = f"adbc+flightsql://{sys.argv[1]}?tls=false"
engine = create_engine(URL)
words = Table("words", MetaData(), Column("n", Integer), Column("word", String))
Base = declarative_base()


class Person(Base):  # type: ignore[misc,valid-type]
    """A node type as a mapped class."""

    __tablename__ = "Person"
    __table_args__ = {"schema": "nodes"}
    id = Column(String, primary_key=True)
    name = Column(String)


def query() -> bool:
    with engine.connect() as connection:
        found = connection.execute(text("SELECT name FROM Person ORDER BY name")).fetchall()
    with Session(engine) as session:
        mapped = session.scalars(select(Person.name).order_by(Person.name)).all()
    return [name for (name,) in found] == list(mapped) == ["Ann", "Bob", "Cid"]


def parameters() -> bool:
    with engine.connect() as connection:
        named = text("SELECT name FROM Person WHERE name = :name")
        first = connection.execute(named, {"name": "Bob"}).scalar()
        second = connection.execute(select(Person.name).where(Person.name == "Bob").limit(1))
        return first == second.scalar() == "Bob"


def update() -> bool:
    with engine.begin() as connection:
        words.create(connection)
        connection.execute(insert(words).values(n=1, word="one"))
    with engine.connect() as connection:
        return connection.execute(select(words)).all() == [(1, "one")]


def many_rows() -> bool:
    with engine.begin() as connection:
        connection.execute(insert(words), [{"n": n, "word": str(n)} for n in range(2, 100)])
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(words)).scalar() == 99


def transactions() -> bool:
    with engine.connect() as connection:
        connection.execute(insert(words).values(n=1000, word="gone"))
        apart = connection.execute(select(func.max(words.c.n))).scalar()
        connection.rollback()
        return apart == 1000 and connection.execute(select(func.max(words.c.n))).scalar() == 99


def savepoints() -> bool:
    with engine.begin() as connection:
        connection.execute(insert(words).values(n=2000, word="kept"))
        nested = connection.begin_nested()
        connection.execute(insert(words).values(n=3000, word="gone"))
        nested.rollback()
    with engine.connect() as connection:
        return connection.execute(select(func.max(words.c.n))).scalar() == 2000


def columns() -> bool:
    found = {column["name"]: column for column in inspect(engine).get_columns("Person", "nodes")}
    return {"name", "age"} <= found.keys() and str(found["age"]["type"]) == "BIGINT"


def keys() -> bool:
    return inspect(engine).get_pk_constraint("Person", "nodes")["constrained_columns"] == ["id"]


def login() -> bool:
    with create_engine(URL.replace("://", "://anybody:anything@")).connect() as connection:
        return connection.execute(text("SELECT 1")).scalar() == 1


def sessions() -> bool:
    """Options of the session are headers in the address."""
    with create_engine(URL + "&header.x-omnigraph-schema=nodes").connect() as connection:
        return connection.execute(text("SELECT current_schema()")).scalar() == "nodes"


def errors() -> bool:
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT * FRM Person"))
    except Exception as error:  # noqa: BLE001 - whatever SQLAlchemy makes of it
        return "parse_error" in str(error) and "File " not in str(error)
    return False


tell(
    {
        "query": query,
        "parameters": parameters,
        "update": update,
        "many rows": many_rows,
        "transactions": transactions,
        "savepoints": savepoints,
        "schemas": lambda: {"nodes", "edges"} <= set(inspect(engine).get_schema_names()),
        "tables": lambda: {"Person", "Club"} <= set(inspect(engine).get_table_names("nodes")),
        "columns": columns,
        "keys": keys,
        "login": login,
        "sessions": sessions,
        "errors": errors,
    }
)
