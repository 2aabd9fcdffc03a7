"""How much room the text beside a plot needs, in pixels, in the steps that the stylesheet has
classes for.

The content security policy of the pages allows no element a style of its own, so a class sets the
width.
"""

from __future__ import annotations

from math import ceil

# Pixels: the mean width of a letter in the pages' font. A guess.
PIXELS_A_LETTER = 7.7
# Pixels from one class of the stylesheet to the next.
STEP = 8
# How many classes the stylesheet has.
STEPS = 48


def text_margin(letters: int) -> int:
    return min(ceil((letters * PIXELS_A_LETTER + 12) / STEP), STEPS) * STEP
