"""Colours for paper: evenly light ones from a hue, as sRGB. The page asks its browser for the same colours.

Björn Ottosson's Oklab: equal lightness looks equally light, so that text on any cell reads alike.
"""

from __future__ import annotations

import math

from swizzle.answers.show.labels import Tone

LIGHT, CHROMA, PALE_CHROMA = 0.87, 0.085, 0.03
STROKE_LIGHT, STROKE_CHROMA = 0.58, 0.13
NEUTRAL = "#eceef1"


def fill_of(tone: Tone | None) -> str:
    """Return the colour of a cell."""
    return NEUTRAL if tone is None else oklch(LIGHT, PALE_CHROMA if tone.pale else CHROMA, tone.hue)


def stroke_of(tone: Tone | None) -> str:
    """Return the colour of an arrow."""
    return "#7a828e" if tone is None else oklch(STROKE_LIGHT, STROKE_CHROMA, tone.hue)


def oklch(lightness: float, chroma: float, hue: float) -> str:
    """Return an Oklab colour, given by lightness, chroma and hue in degrees, as `#rrggbb`.

    >>> oklch(1.0, 0.0, 0.0), oklch(0.628, 0.2577, 29.23)
    ('#ffffff', '#ff0000')
    """
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(min(1.0, max(0.0, part)))):02x}" for part in linear)


def _gamma(linear: float) -> float:
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
