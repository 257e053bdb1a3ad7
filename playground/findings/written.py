"""Numbers as people read them: sentences, the terminal and the page write the same."""

from __future__ import annotations

from playground.findings.report import Cell, Unit

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def written(value: Cell, unit: Unit) -> str:
    """A number in its unit; a dash where there is none. Text stays as it is."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if unit == "count":
        return f"{value:,.0f}"
    if unit == "share":
        return share(value)
    if unit == "seconds":
        return f"{value:,.2f} s" if value >= 1 else f"{value * 1000:,.1f} ms"
    if unit == "bytes":
        return _bytes(value)
    if unit == "nats":
        return f"{value:.3f}"
    if unit == "per_s":
        return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"
    if unit == "price" and (value == 0 or value >= 1e-6):
        return f"{value:,.6f}".rstrip("0").rstrip(".")
    return plain(value, 3 if abs(value) < 1 else 4)


def plain(value: float, digits: int = 4) -> str:
    """A number with so many significant digits; very small and very large ones as '3.1 × 10⁻⁶'."""
    mantissa, _, power = f"{value:.{digits}g}".partition("e")
    return f"{mantissa} × 10{str(int(power)).translate(_RAISED)}" if power else mantissa


def share(value: float) -> str:
    """A share in [0, 1] as percent. What is not 0 or 1 is not written as if it were."""
    if 0 < value < 0.0001:
        return "<0.01%"
    if 0.999 < value < 1:
        return ">99.9%"
    return f"{value:.2%}" if value < 0.01 and value else f"{value:.1%}"


def times(ratio: float) -> str:
    """How many times as much: with one digit after the point where that tells something."""
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:,.0f} times"


def counted(number: int, noun: str) -> str:
    """'1 token', '2,048 tokens'."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _bytes(value: float) -> str:
    for name in ("B", "KB", "MB", "GB"):
        if value < 1024 or name == "GB":
            return f"{value:,.0f} {name}" if name == "B" else f"{value:,.1f} {name}"
        value /= 1024
    raise AssertionError
