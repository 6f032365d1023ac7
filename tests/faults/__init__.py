"""Known faults of other libraries, each a number: tested here, or in one of these tables with the reason why not.

`test_table.py` reads the numbers out of the tests and holds the three sets together.
"""

FAULTS = frozenset(
    [
        f"B{number:03}"
        for number in (
            *(1, 2, 3, 4, 7, 8, 9, 12, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 27, 28, 30, 31, 32, 33, 34, 35, 37, 38, 39),
            *(41, 42, 43, 44, 45, 48, 52, 54, 55, 57, 58, 60, 62, 63, 64, 66, 67, 69, 70, 71, 73, 74, 75, 76, 77, 78, 79),
            *(81, 82, 84, 86, 87, 89, 91, 92, 93, 95, 98, 99, 100, 101, 102, 103, 105, 106, 108, 110, 112, 114, 116, 118, 119),
            *(120, 123, 125, 126, 128, 129, 130, 131, 133, 134, 135, 137, 138, 140, 142, 143, 145, 146, 147, 148, 151, 155),
            *(156, 157, 159, 160, 161, 163, 166, 167, 169, 171, 173),
        )
    ]
)
"""All numbers; those that are missing never were faults."""

DEFERRED: dict[str, str] = {}
"""Not tested at all, because nothing of it is built."""

PARTLY: dict[str, str] = {}
"""Tested as far as it is built, and what is missing."""

DECIDED = {
    "B012": "no mode for streams that repeat everything: text is joined as it came, and told",
    "B023": "text that a server repeats is never taken out",
    "B074": "no switch that takes calls out of text",
    "B128": "no switch that throws a last event without its blank line away: it is used if it is whole, and told",
    "B138": "repair is the caller's, by parse_arguments",
    "B155": "whether to try again is for the caller to say, by the name of the error",
    "B157": "a second response in one stream is told by the diagnostic second_response",
    "B161": "the async drivers take idle_timeout; a read that blocks needs the time-out of its client",
}
"""Where more than one answer is right: the one this library gives."""
