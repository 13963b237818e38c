"""The interface of methods and their options, and the runner that calibrates noise, checks the budget and
scores a fit."""
