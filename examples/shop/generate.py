"""Makes a day of a shop, dirt included: `python generate.py FOLDER [EVENTS]`."""

from __future__ import annotations

import csv
import json
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

CUSTOMERS, PRODUCTS = 200, 40


def customers(chance: random.Random) -> list[dict[str, str]]:
    """Some come twice, some have no name, some no address."""
    found = []
    for number in range(CUSTOMERS):
        address = f"customer{number}@example.org"
        row = {
            "email": f" {address.title()}" if number % 7 else address,
            "name": "" if number % 50 == 49 else f"Customer {number}",
            "joined": f"2026-0{1 + number % 9}-1{number % 10}",
        }
        found += [row] * (2 if number % 11 == 0 else 1)
    found += [{"email": "", "name": "Nobody", "joined": "yesterday"}] * 3
    chance.shuffle(found)
    return found


def events(chance: random.Random, count: int) -> list[dict[str, object]]:
    """Views and purchases; some by nobody, some with a price below zero."""
    start = datetime(2026, 11, 1, tzinfo=UTC)
    found: list[dict[str, object]] = []
    for number in range(count):
        product, who = chance.randrange(PRODUCTS), chance.randrange(CUSTOMERS)
        found.append(
            {
                "kind": chance.choice(["view", "view", "buy"]),
                "who": None if number % 97 == 0 else f"customer{who}@example.org",
                "sku": f"sku-{product:03}",
                "price": -1.0 if number % 101 == 0 else 5.0 + product,
                "quantity": chance.choice([1, 1, 2, 5]),
                "at": (start + timedelta(seconds=number)).isoformat(),
            }
        )
    return found


def main(folder: str, count: str = "5000") -> None:
    chance = random.Random(7)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    with (target / "customers.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["email", "name", "joined"])
        writer.writeheader()
        writer.writerows(customers(chance))
    with (target / "events.json").open("w") as file:
        file.writelines(json.dumps(event) + "\n" for event in events(chance, int(count)))
    print(f"{CUSTOMERS} customers and {count} events in {target}")


if __name__ == "__main__":
    main(*sys.argv[1:])
