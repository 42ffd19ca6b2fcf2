"""The coefficients of the law in space: three polynomials of 20 terms each, the same for all media."""

F1 = (
    0.00212, -0.02320, -0.20890, -0.43083, -0.00259, 0.48872, -0.00415, 0.07204, -0.02750, -0.08772,
    0.01992, -0.45961, 0.40799, -0.10107, -0.06576, 0.05664, -0.09269, 0.01892, 0.01033, 0.15120,
)  # fmt: skip
F2 = (
    -0.06796, -0.10941, 0.04725, -0.06914, -0.05835, -0.65880, -0.11985, -0.25739, -0.26834, 0.02692,
    -0.00736, 0.63758, 0.08997, 0.21069, 0.04748, 0.20406, 0.18589, 0.04934, 0.13527, -0.33207,
)  # fmt: skip
F3 = (
    -0.02634, -0.03436, 0.45256, 0.00835, 0.02553, -1.31290, -0.05532, 0.06790, -0.16404, 0.02287,
    0.02927, 0.95406, -0.00131, -0.11028, 0.01487, -0.02730, 0.10911, -0.04097, 0.07881, -0.27519,
)  # fmt: skip
"""Coefficients of the law in space (Agarwal, Goldman and Kamrin, PNAS 2023).

Public codes disagree about one entry of F2 (0.18589 or 0.18519) and one of F3 (-0.02730 or -0.20770). With the second
of F3 a plate that is pulled straight up would be pushed up; the one of F2 changes stresses by less than 0.001.
"""
