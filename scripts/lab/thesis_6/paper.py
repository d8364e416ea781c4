"""What the thesis's section 6.8 prints, as data: table 6.2, and the numbers of its text (its figures are pictures)."""

from __future__ import annotations

from typing import Final

from scripts.lab.thesis_6.searches import DEFAULT, DELAY, MULTI, RELAXATION

COLUMNS: Final = (DEFAULT, MULTI, DELAY, RELAXATION)
"""Table 6.2's first columns; its last two are the best rule-based set-up's and the slope change."""
TABLE_6_2: Final = {
    ("air", "summer", "high", "cheap"): (1.43419, 1.43407, 1.43355, 1.43406, 1.43451, 1.43497),
    ("air", "summer", "high", "expensive"): (1.43417, 1.43401, 1.43377, 1.43402, 1.43451, 1.43497),
    ("air", "summer", "low", "cheap"): (1.41417, 1.41603, 1.41022, 1.41603, 1.41701, 1.43497),
    ("air", "summer", "low", "expensive"): (1.41397, 1.41626, 1.41049, 1.41586, 1.41701, 1.43497),
    ("air", "winter", "high", "cheap"): (1.10795, 1.11268, 1.11254, 1.11280, 1.11295, 1.11726),
    ("air", "winter", "high", "expensive"): (1.10784, 1.11261, 1.11253, 1.11259, 1.11295, 1.11726),
    ("air", "winter", "low", "cheap"): (1.09427, 1.09530, 1.09388, 1.09514, 1.09478, 1.11726),
    ("air", "winter", "low", "expensive"): (1.09453, 1.09590, 1.09413, 1.09560, 1.09478, 1.11726),
    ("hybrid", "summer", "high", "cheap"): (1.08863, 1.09222, 1.09222, 1.09221, 1.09207, 1.08727),
    ("hybrid", "summer", "high", "expensive"): (1.08839, 1.09218, 1.09242, 1.09218, 1.09207, 1.08727),
    ("hybrid", "summer", "low", "cheap"): (1.07419, 1.07535, 1.07353, 1.07535, 1.07513, 1.08727),
    ("hybrid", "summer", "low", "expensive"): (1.07464, 1.07544, 1.07345, 1.07536, 1.07513, 1.08727),
    ("hybrid", "winter", "high", "cheap"): (1.00306, 1.00323, 1.00319, 1.00323, 1.00317, 1.00302),
    ("hybrid", "winter", "high", "expensive"): (1.00306, 1.00327, 1.00326, 1.00327, 1.00317, 1.00302),
    ("hybrid", "winter", "low", "cheap"): (1.00279, 1.00280, 1.00277, 1.00280, 1.00284, 1.00302),
    ("hybrid", "winter", "low", "expensive"): (1.00278, 1.00290, 1.00284, 1.00289, 1.00286, 1.00302),
}
"""By plant, season, workload and income."""
BEST_RULE, SLOPE = 4, 5
"""Columns of the table."""

GAINS: Final = {"high": "+7.6 to +8.1 %", "low": "“no significant improvement”"}
"""Section 6.8.3, figures 6.2 and 6.3: its own searches over the best rule-based set-up."""
DEFAULT_GAIN: Final = {"high": "−11.8 to −11.9 %", "low": "–"}
RULE: Final = "hybrid cooling and last day's use > 0.8482 → maximise the use; otherwise → optimise the cooling"
"""Figure 6.5, by its text."""
RECORDS: Final = 538
