"""Searchers of other packages behind the contract of this one: larger is better, all chance from one seed."""
