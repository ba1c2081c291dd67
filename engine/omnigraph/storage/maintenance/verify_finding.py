"""What verification finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VerifyFinding:
    """One thing that is not as it should be."""

    where: str
    problem: str

    def to_json(self) -> dict[str, str]:
        return {"where": self.where, "problem": self.problem}
